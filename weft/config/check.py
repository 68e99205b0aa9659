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
    found = (*problems, *check_queries(config)[1])
    found = (*found, *(check_state(config) if not found else ()))
    if found:
        raise ConfigError(config.file, tuple(sorted(found, key=lambda one: _order(config, one))))
    return config


def check_queries(config: Config) -> tuple[dict[str, tuple[Query, Needs]], tuple[Problem, ...]]:
    """What every query means and needs, and what is wrong with those that mean nothing."""
    aggregates, wrong = _aggregates(config)
    problems, broken = list(wrong.values()), config.broken | wrong.keys()
    unreadable = frozenset(column for one in config.partial.values() for column in one.unreadable)
    compiled: dict[str, tuple[Query, Needs]] = {}
    for name, one in config.queries.items():
        if one.missing:
            continue
        found = _compile(one.sql, config, aggregates)
        if not isinstance(found, WeftError):
            compiled[name] = found
        elif not _follows(found, broken, unreadable):
            problems.append(_problem(config, one, found))
    # A query of a stream that is wrong was checked, and means nothing yet.
    whole = {name: found for name, found in compiled.items() if config.streams.keys() >= set(found[0].feeds)}
    return whole, tuple(problems)


def _compile(sql: str, config: Config, aggregates: AggregateCatalog) -> tuple[Query, Needs] | WeftError:
    """What a query means and needs, or why it cannot: a stream that is wrong stands for any that it may mean."""
    whole = {name: one.stream.schema for name, one in config.streams.items()}
    partial = {name: one.schemas for name, one in config.partial.items() if one.schemas}
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
        mine = {name: needs for name, (query, needs) in compiled.items() if stream in query.feeds}
        yield build_network(stream, mine)


def bounds(config: Config) -> dict[str, Bound]:
    """How much state each query can need, by name."""
    compiled, _ = check_queries(config)
    found = {}
    for name, (query, needs) in sorted(compiled.items()):
        keep = config.queries[name].keep
        kept = None if keep == "forever" else parse_duration(keep)
        found[name] = bound_of(needs, kept, config.streams[query.block.feed].stream.delay)
    return found


def check_state(config: Config) -> tuple[Problem, ...]:
    """Where the state folder holds something else under the same name; nothing for a folder that is not there yet."""
    file = Path(config.state) / "catalog.sqlite"
    try:
        if config.catalog is not None or is_address(config.state) or not file.exists():
            return ()
    except OSError as error:  # a name of more letters than the disk takes
        message = f"the state folder cannot be used: {error.strerror}"
        return (Problem(config.file, config.places.key("state"), "storage-failed", message, "Use another folder."),)
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
            yield Problem(config.file, config.places.key("streams", name), "stream-differs",
                          f"stream {name!r} exists with another definition in {config.state}: {differs}",
                          "Use another name, or a new state folder.")
    for name, (query, _) in check_queries(config)[0].items():
        one = config.queries[name]
        if name in known_queries and known_queries[name].query != query:
            keys = one.keys or ("query_files",)
            position = config.places.key(*keys) if one.keys else None
            yield Problem(one.file, position, "query-differs",
                          f"query {name!r} exists with another definition in {config.state}",
                          f"Drop it first: weft drop {name} --state {config.state}. Or use another name.")


def _aggregates(config: Config) -> tuple[AggregateCatalog, dict[str, Problem]]:
    aggregates, problems = AggregateCatalog(), {}
    for name, definition in config.aggregates.items():
        try:
            aggregates = aggregates.plus(define_aggregate(name, definition, aggregates))
        except WeftError as error:
            place = config.places.key("aggregates", name)
            problems[name] = Problem(config.file, place, error.code, error.message, error.hint)
    return aggregates, problems


def _follows(error: WeftError, broken: Set[str], unreadable: Set[str]) -> bool:
    """Whether the error only says again that a stream, one of its columns or an aggregate is wrong."""
    if error.code == "unknown-column":
        return any(repr(name) in error.message.lower() for name in unreadable)
    return error.code in ("unknown-stream", "unknown-function") and any(repr(name) in error.message for name in broken)


def _problem(config: Config, query: QueryConfig, error: WeftError) -> Problem:
    position = error.position if query.keys is None else config.places.within(error.position, *query.keys)
    return Problem(query.file, position, error.code, f"query {query.name!r}: {error.message}", error.hint)


def _order(config: Config, problem: Problem) -> tuple[bool, str, int, int]:
    """By file, the configuration first, then by line."""
    at = problem.position
    return problem.file != config.file, problem.file, at.line if at else 0, at.column if at else 0
