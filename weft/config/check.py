"""Whether a configuration can run: every query is compiled as registering would, all errors at once, without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Set
from pathlib import Path

from weft.aggregates.catalog import AggregateCatalog
from weft.aggregates.userdefined import define_aggregate
from weft.algebra.query import Query
from weft.backend.check import check_expressions
from weft.config.read import Config, QueryConfig, read_config
from weft.errors import ConfigError, Problem, WeftError
from weft.feeds.address import is_address
from weft.plan.bound import Bound, bound_of
from weft.plan.needs import Needs, analyse
from weft.plan.network import Network, build_network
from weft.registry.registry import Registry
from weft.sql.bind import compile_query
from weft.sql.ddl import parse_duration
from weft.store.catalog import Catalog, sqlite_url


def load_config(path: str | Path) -> Config:
    """A configuration without problems, or ConfigError with all of them."""
    config, problems = read_config(path)
    problems = (*problems, *check_queries(config)[1])
    problems = (*problems, *(check_state(config) if not problems else ()))
    if problems:
        raise ConfigError(config.file, tuple(sorted(problems, key=lambda problem: _order(config, problem))))
    return config


def check_queries(config: Config) -> tuple[dict[str, tuple[Query, Needs]], tuple[Problem, ...]]:
    """What every query means and needs, and what is wrong with queries that mean nothing."""
    aggregates, wrong = _aggregates(config)
    problems, broken = list(wrong.values()), config.broken | wrong.keys()
    unreadable = frozenset(column for stream in config.partial.values() for column in stream.unreadable)
    compiled: dict[str, tuple[Query, Needs]] = {}
    for name, query in config.queries.items():
        if query.missing:
            continue
        outcome = _compile(query.sql, config, aggregates)
        if not isinstance(outcome, WeftError):
            compiled[name] = outcome
        elif not _follows(outcome, broken, unreadable):
            problems.append(_problem(config, query, outcome))
    # A query of a stream that is wrong was checked, and means nothing yet.
    whole = {name: pair for name, pair in compiled.items() if config.streams.keys() >= set(pair[0].feeds)}
    return whole, tuple(problems)


def _compile(sql: str, config: Config, aggregates: AggregateCatalog) -> tuple[Query, Needs] | WeftError:
    """What a query means and needs, or why it cannot: a stream that is wrong stands for any that it may mean."""
    whole = {name: stream.stream.schema for name, stream in config.streams.items()}
    partial = {name: stream.schemas for name, stream in config.partial.items() if stream.schemas}
    errors = []
    for turn in range(max(map(len, partial.values()), default=1)):
        meant = {name: schemas[min(turn, len(schemas) - 1)] for name, schemas in partial.items()}
        try:
            query = compile_query(sql, {**meant, **whole}, aggregates)
            needs = analyse(query, aggregates)
            check_expressions(needs)
            return query, needs
        except WeftError as error:
            errors.append(error)
    # With another column as the event time a query fails early, at its window.
    return next((error for error in errors if "the event time" not in error.message), errors[0])


def networks(config: Config) -> Iterator[Network]:
    """The network of every stream, as the configuration alone would have it."""
    compiled, _ = check_queries(config)
    for stream in sorted(config.streams):
        of_stream = {name: needs for name, (query, needs) in compiled.items() if stream in query.feeds}
        yield build_network(stream, of_stream)


def bounds(config: Config) -> dict[str, Bound]:
    """How much state every query can need, by name."""
    compiled, _ = check_queries(config)
    bound_by_query = {}
    for name, (query, needs) in sorted(compiled.items()):
        keep = config.queries[name].keep
        duration = None if keep == "forever" else parse_duration(keep)
        bound_by_query[name] = bound_of(needs, duration, config.streams[query.block.feed].stream.delay)
    return bound_by_query


def check_state(config: Config) -> tuple[Problem, ...]:
    """The problems of names that mean something else in the state folder; none for a folder that is not there yet."""
    file = Path(config.state) / "catalog.sqlite"
    try:
        if config.catalog is not None or is_address(config.state) or not file.exists():
            return ()
    except OSError as error:  # a name of more letters than the disk takes
        message = f"the state folder cannot be used: {error.strerror}"
        return (Problem(config.file, config.positions.key("state"), "storage-failed", message, "Use another folder."),)
    catalog = Catalog(sqlite_url(file))
    try:
        registry = Registry(catalog, config.state)
        return tuple(_differences(config, registry))
    finally:
        catalog.close()


def _differences(config: Config, registry: Registry) -> Iterator[Problem]:
    known_streams, known_queries = registry.streams(), registry.queries()
    for name, stream in config.streams.items():
        if name in known_streams and known_streams[name].definition() != stream.stream.definition():
            differs = known_streams[name].differences(stream.stream)
            yield Problem(config.file, config.positions.key("streams", name), "stream-differs",
                          f"stream {name!r} exists with another definition in {config.state}: {differs}",
                          "Use another name, or a new state folder.")
    for name, (query, _) in check_queries(config)[0].items():
        declared = config.queries[name]
        if name in known_queries and known_queries[name].query != query:
            keys = declared.keys or ("query_files",)
            position = config.positions.key(*keys) if declared.keys else None
            yield Problem(declared.file, position, "query-differs",
                          f"query {name!r} exists with another definition in {config.state}",
                          f"Drop it first: weft drop {name} --state {config.state}. Or use another name.")


def _aggregates(config: Config) -> tuple[AggregateCatalog, dict[str, Problem]]:
    aggregates, problems = AggregateCatalog(), {}
    for name, definition in config.aggregates.items():
        try:
            aggregates = aggregates.plus(define_aggregate(name, definition, aggregates))
        except WeftError as error:
            position = config.positions.key("aggregates", name)
            problems[name] = Problem(config.file, position, error.code, error.message, error.hint)
    return aggregates, problems


def _follows(error: WeftError, broken: Set[str], unreadable: Set[str]) -> bool:
    """Whether the error only says again that a stream, a column of it or an aggregate is wrong."""
    if error.code == "unknown-column":
        return any(repr(name) in error.message.lower() for name in unreadable)
    return error.code in ("unknown-stream", "unknown-function") and any(repr(name) in error.message for name in broken)


def _problem(config: Config, query: QueryConfig, error: WeftError) -> Problem:
    position = error.position if query.keys is None else config.positions.within(error.position, *query.keys)
    return Problem(query.file, position, error.code, f"query {query.name!r}: {error.message}", error.hint)


def _order(config: Config, problem: Problem) -> tuple[bool, str, int, int]:
    """By file, the configuration first, then by line."""
    at = problem.position
    return problem.file != config.file, problem.file, at.line if at else 0, at.column if at else 0
