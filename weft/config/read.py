"""weft.toml: streams, queries and settings in a file, refused whole and with everything that is wrong with it.

Keeps: reading a configuration starts no Spark and touches no state folder. A relative path means relative to the file
that it stands in.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.config.partial import PartialStream, partial_stream
from weft.config.positions import KeyPositions, deep_position, find_positions, position_in
from weft.config.tables import Notes, Table, flatten
from weft.errors import ConfigError, Position, Problem, WeftError
from weft.feeds.address import is_address, is_relative
from weft.feeds.retention import parse_retain
from weft.feeds.sources import Roots
from weft.feeds.streams import ANY, DEFAULT_AHEAD, MAX_PATH, Stream, check_text, define_stream, spark_identifier
from weft.optimize.policy import check_kernel, check_sharing
from weft.registry.admission import DEFAULT_KEEP
from weft.sql.ddl import parse_schema, parse_wait
from weft.store.catalog import parse_url

if TYPE_CHECKING:
    from weft.engine import Engine

DEFAULT_STATE = "state"
KEYS = ("state", "catalog", "roots", "trigger", "keep", "sharing", "kernel", "query_files", "spark", "streams",
        "queries", "aggregates")
MAX_NESTING = 50
LONG_NUMBER = re.compile(r"[0-9][0-9_]{4000,}")
STREAM_KEYS = ("source", "path", "schema", "event_time", "watermark", "max_ahead", "options", "retain")
QUERY_KEYS = ("sql", "file", "keep", "eager")
AGGREGATE_KEYS = ("parameters", "statistics", "merge", "result")


@dataclass(frozen=True)
class StreamConfig:
    """A stream as the file declares it; `stream` is what it means."""

    stream: Stream
    schema: str
    watermark: str
    max_ahead: str
    retain: str | None = None
    # Whether its path is written relative to the file.
    relative: bool = False


@dataclass(frozen=True)
class QueryConfig:
    """A query and where its text stands: `keys` in the configuration, or a file of its own."""

    name: str
    sql: str
    keep: str
    eager: bool
    file: str
    keys: tuple[str, ...] | None
    # Its text is not there, which was noted when the configuration was read.
    missing: bool = False


@dataclass(frozen=True)
class Config:
    """A configuration that was read; weft.config.check says whether its queries can run."""

    file: str
    state: str
    catalog: str | None = None
    roots: tuple[str, ...] | None = None
    trigger: str = "0 seconds"
    sharing: str = "auto"
    kernel: str = "auto"
    spark: Mapping[str, str] = field(default_factory=dict)
    streams: Mapping[str, StreamConfig] = field(default_factory=dict)
    queries: Mapping[str, QueryConfig] = field(default_factory=dict)
    aggregates: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    positions: KeyPositions = field(default_factory=lambda: find_positions(""), repr=False)
    # Streams and aggregates that are wrong themselves: a query that uses them is not to blame.
    broken: frozenset[str] = frozenset()
    # What wrong streams say all the same, for checking the rest of such a query.
    partial: Mapping[str, PartialStream] = field(default_factory=dict)

    def apply(self, engine: Engine) -> None:
        """Add and register everything; what is there already with the same definition stays as it is."""
        for name, definition in self.aggregates.items():
            engine.create_aggregate(name, **definition)
        for name, declared in self.streams.items():
            stream = declared.stream
            # Relative as it is written, so that the project can be moved with its state; for the engine from here on.
            path = os.path.relpath(stream.path) if stream.path is not None and declared.relative else stream.path
            engine.add_stream(name, source=stream.source, path=path, schema=declared.schema,
                              event_time=stream.event_time, watermark=declared.watermark,
                              max_ahead=declared.max_ahead, options=stream.options, retain=declared.retain)
        for keep, eager in sorted({(query.keep, query.eager) for query in self.queries.values()}):
            engine.register_all({query.name: query.sql for query in self.queries.values()
                                 if (query.keep, query.eager) == (keep, eager)}, keep=keep, eager=eager)


def read_config(path: str | Path) -> tuple[Config, tuple[Problem, ...]]:
    """The configuration as far as it can be understood, and what is wrong with its form."""
    file = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        hint = "Name the configuration, for example: weft check weft.toml."
        raise ConfigError(file, (Problem(file, None, "unreadable-file", f"cannot be read: {reason}", hint),)) from None
    content = _parse(file, text)
    notes = Notes(file, find_positions(text))
    return _Reading(notes, Path(path).parent).config(Table(notes, (), content)), tuple(notes.problems)


def _parse(file: str, text: str) -> dict[str, Any]:
    """The tables of a TOML text; refused before the parser recurses too deep or meets a number that Python refuses."""
    hint = "A text stands in quotes; a long SQL text in three of them, or in a file of its own."
    deep = deep_position(text, MAX_NESTING)
    if deep is not None:
        message = f"lists and tables stand in more than {MAX_NESTING} others"
        raise ConfigError(file, (Problem(file, deep, "not-toml", message, "Take them apart."),))
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said, _, location = str(error).rpartition(" (at ")
        numbers = [int(word) for word in location.rstrip(")").replace(",", "").split() if word.isdigit()]
        position = Position(*numbers) if len(numbers) == 2 else Position(text.count("\n") + 1, 1)
        message = said or str(error)
    except ValueError:  # of a number with more digits than Python reads
        long = LONG_NUMBER.search(text)
        position, message = position_in(text, long.start() if long else 0), "a number has too many digits"
    problem = Problem(file, position, "not-toml", f"{message[0].lower()}{message[1:]}", hint)
    raise ConfigError(file, (problem,)) from None


class _Reading:
    """A pass over the tables of a file."""

    def __init__(self, notes: Notes, folder: Path) -> None:
        self._notes, self._folder, self._roots = notes, folder, Roots.of(None)
        self._partial: dict[str, PartialStream] = {}

    def config(self, top: Table) -> Config:
        top.only(KEYS)
        roots = tuple(root and self._path(root) for root in top.texts("roots")) if "roots" in top.content else None
        self._try(("roots",), lambda: self._allow(roots))
        keep = self._keep(top, DEFAULT_KEEP)
        streams = {name: self._stream(name, table) for name, table in top.tables("streams").items()}
        if not streams and "streams" not in top.content:
            self._notes.add((), "no-streams", "the configuration has no stream",
                            'Add [streams.name] with source = "parquet", path, schema and event_time.')
        trigger = top.text("trigger", default="0 seconds")
        self._duration(("trigger",), trigger)
        sharing = top.text("sharing", default="auto")
        self._try(("sharing",), lambda: check_sharing(sharing))
        kernel = top.text("kernel", default="auto")
        self._try(("kernel",), lambda: check_kernel(kernel))
        state, catalog = top.text("state", default=DEFAULT_STATE), top.text("catalog")
        self._try(("state",), lambda: check_text(state, "path of the state", MAX_PATH))
        if catalog:
            self._try(("catalog",), lambda: parse_url(catalog))
        aggregates = self._aggregates(top)
        broken = {name for name, declared in {**streams, **aggregates}.items() if declared is None}
        return Config(
            file=self._notes.file, state=self._path(state), catalog=catalog or None, roots=roots, trigger=trigger,
            sharing=sharing,
            kernel=kernel,
            spark={_spark_key(key): value for key, value in flatten(top.table("spark")).items()},
            streams={name: stream for name, stream in streams.items() if stream is not None},
            queries=self._queries(top, keep), positions=self._notes.positions, broken=frozenset(broken),
            partial=self._partial,
            aggregates={name: aggregate for name, aggregate in aggregates.items() if aggregate is not None})

    def _stream(self, name: str, table: Table) -> StreamConfig | None:
        before = len(self._notes.problems)
        table.only(STREAM_KEYS)
        texts = {key: table.text(key, required=key != "path") for key in ("source", "schema", "event_time", "path")}
        self._partial[name] = partial_stream(name, texts["schema"], texts["event_time"])
        watermark = table.text("watermark", default="0 seconds")
        max_ahead = table.text("max_ahead", default=DEFAULT_AHEAD)
        retain = table.text("retain") or None
        options = flatten(table.table("options"))
        sound = {"watermark": self._duration((*table.keys, "watermark"), watermark),
                 "max_ahead": max_ahead == ANY or self._duration((*table.keys, "max_ahead"), max_ahead),
                 "retain": retain is None or self._try((*table.keys, "retain"), lambda: parse_retain(retain)),
                 "schema": self._schema(table.keys, texts["schema"], self._partial[name])}
        path = self._path(texts["path"]) if texts["path"] else None
        said: dict[str, Any] = {"source": texts["source"] or "parquet", "path": path, "schema": texts["schema"],
                                "event_time": texts["event_time"], "watermark": watermark, "max_ahead": max_ahead,
                                "options": options, "retain": retain}
        stand_in = self._stand_in(self._partial[name], texts["event_time"])
        mended = {key: stand_in[key] for key in sound if not sound[key]}
        stream = self._define(name, table.keys, {**said, **mended}, stand_in)
        if stream is None or len(self._notes.problems) > before:
            return None
        del self._partial[name]
        relative = bool(texts["path"]) and is_relative(texts["path"])
        return StreamConfig(stream, texts["schema"], watermark, max_ahead, retain, relative)

    def _schema(self, keys: tuple[str, ...], text: str, partial: PartialStream) -> bool:
        """Note what is wrong with a schema, every column by itself; whether nothing is."""
        if not text:
            return False
        if partial.errors:
            for error in partial.errors:
                self._notes.error((*keys, "schema"), error, inside=True)
            return False
        return self._try((*keys, "schema"), lambda: parse_schema(text), inside=True)

    @staticmethod
    def _stand_in(partial: PartialStream, event_time: str) -> dict[str, Any]:
        """What stands for a part of a stream that is wrong, so that the other parts are looked at."""
        columns = partial.columns_text
        # An event time that is missing, or whose column cannot be read, is told of already.
        told = not event_time or event_time.lower() in partial.unreadable or not columns
        moment = event_time if told and event_time else "the event time"
        schema = ", ".join(filter(None, (columns, f"{spark_identifier(moment)} timestamp")))
        return {"watermark": "0 seconds", "max_ahead": DEFAULT_AHEAD, "retain": None, "options": {},
                "event_time": moment, "schema": schema if told else columns, "schema with a time": schema}

    def _define(
        self, name: str, keys: tuple[str, ...], said: dict[str, Any], stand_in: Mapping[str, Any]
    ) -> Stream | None:
        """The stream; where it is refused, note why, and look at the rest of it with another value in that place."""
        blamed = {"no-event-time": "event_time", "bad-event-time": "event_time", "bad-watermark": "watermark",
                  "bad-max-ahead": "max_ahead", "bad-option": "options"}
        if not said["event_time"]:
            said = {**said, "event_time": stand_in["event_time"], "schema": stand_in["schema with a time"]}
        try:
            stream = define_stream(name, dataframe=None, **said)
            self._roots.check(stream)
            return stream
        except WeftError as error:
            key = blamed.get(error.code)
            self._notes.error((*keys, *([key] if key else [])), error)
        if key is not None and said[key] != stand_in[key]:
            time = {"schema": stand_in["schema with a time"]} if key == "event_time" else {}
            self._define(name, keys, {**said, **time, key: stand_in[key]}, stand_in)
        return None

    def _queries(self, top: Table, keep: str) -> dict[str, QueryConfig]:
        queries: dict[str, QueryConfig] = {}
        content = top.content.get("queries", {})
        for name, table in top.tables("queries", also_text=True).items():
            if isinstance(content[name], str):
                query = QueryConfig(name, content[name], keep, False, self._notes.file, table.keys)
            else:
                table.only(QUERY_KEYS)
                query = self._query(name, table, keep)
            self._name(name, table.keys)
            queries[name] = query
        for path in self._query_files(top):
            if path.stem in queries:
                self._notes.add(("query_files",), "query-twice", f"{path.name} is not the only query {path.stem!r}",
                                "The name of a query file is the name of its query: rename one of the two.")
                continue
            self._name(path.stem, ("query_files",))
            sql = self._text_of(path, ("query_files",))
            queries[path.stem] = QueryConfig(path.stem, sql or "", keep, False, str(path), None, sql is None)
        return queries

    def _query(self, name: str, table: Table, keep: str) -> QueryConfig:
        sql, file = table.text("sql"), table.text("file")
        own = self._keep(table, keep)
        eager = table.flag("eager")
        if bool(sql) == bool(file):
            self._notes.add(table.keys, "no-sql", f"query {name!r} needs either sql or file",
                            'Write sql = "SELECT ..." or file = "queries/name.sql".')
        if file and not sql:
            path = self._folder / file
            text = self._text_of(path, (*table.keys, "file"))
            return QueryConfig(name, text or "", own, eager, str(path), None, text is None)
        return QueryConfig(name, sql, own, eager, self._notes.file, (*table.keys, "sql"), not sql)

    def _query_files(self, top: Table) -> list[Path]:
        files: dict[Path, None] = {}
        for pattern in top.texts("query_files"):
            matches = self._matches(pattern)
            if not matches:
                self._notes.add(("query_files",), "no-such-file", f"no file matches {pattern[:200]!r}",
                                'Patterns are relative to the configuration, for example "queries/*.sql".')
            files |= dict.fromkeys(matches)
        return list(files)

    def _matches(self, pattern: str) -> list[Path]:
        try:
            matches = self._folder.glob(pattern) if not Path(pattern).is_absolute() else []
            return sorted(match for match in matches if match.is_file())
        # Python refuses "" and "**x" as patterns, stumbles over ".", and the disk knows no name of 5,000 letters.
        except (OSError, ValueError, IndexError, NotImplementedError, RecursionError):
            return []

    def _aggregates(self, top: Table) -> dict[str, dict[str, Any] | None]:
        aggregates: dict[str, dict[str, Any] | None] = {}
        for name, table in top.tables("aggregates").items():
            before = len(self._notes.problems)
            table.only(AGGREGATE_KEYS)
            parts = {key: {column: text for column, text in table.table(key).content.items() if isinstance(text, str)}
                     for key in ("statistics", "merge")}
            definition = {"parameters": table.text("parameters", default="x double"), **parts,
                          "result": table.text("result", required=True)}
            aggregates[name] = definition if len(self._notes.problems) == before else None
        return aggregates

    def _allow(self, roots: tuple[str, ...] | None) -> None:
        self._roots = Roots.of(roots)

    def _keep(self, table: Table, default: str) -> str:
        keep = table.text("keep", default=default)
        if keep != "forever":
            self._duration((*table.keys, "keep"), keep)
        return keep

    def _duration(self, keys: tuple[str, ...], text: str) -> bool:
        return self._try(keys, lambda: parse_wait(text))

    def _name(self, name: str, keys: tuple[str, ...]) -> None:
        if not name or len(name) > 200 or not name.isprintable():
            message, hint = f"{name[:200]!r} cannot name a query", "Use 1 to 200 printable characters."
            self._notes.add(keys, "bad-name", message, hint)

    def _try(self, keys: tuple[str, ...], action: Any, *, inside: bool = False) -> bool:
        """Do it, and note what it raises; whether it raised nothing."""
        try:
            action()
        except WeftError as error:
            self._notes.error(keys, error, inside=inside)
            return False
        return True

    def _text_of(self, path: Path, keys: tuple[str, ...]) -> str | None:
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            not_utf8 = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else "it is no path"
            reason = error.strerror if isinstance(error, OSError) else not_utf8
            name = repr(str(path)[:200]).strip("'")
            self._notes.add(keys, "unreadable-file", f"{name} cannot be read: {reason}", "Check its name and folder.")
            return None

    def _path(self, path: str) -> str:
        """A local path relative to the configuration; anything with a scheme stays what it is."""
        return path if is_address(path) else os.path.abspath(self._folder / path)


def _spark_key(key: str) -> str:
    return key if key.startswith("spark.") else f"spark.{key}"
