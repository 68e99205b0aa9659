"""Streams: what a source of rows is called, what it holds, and how far out of order it may be."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from weft.algebra.schema import FeedSchema
from weft.algebra.types import STRING, TIMESTAMP, DataType
from weft.algebra.windows import Clock, duration_text, micros
from weft.errors import SqlError, StreamError
from weft.feeds.retention import Retention, parse_retain, retention_of
from weft.sql.ddl import Duration, parse_duration, parse_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# No clock is this wrong by accident of a time zone; what is further ahead is a mistake, not a row of the future.
DEFAULT_AHEAD = "1 day"
# How a configuration, which knows no None, says that there is no limit.
ANY = "any"

# A stream's name is part of the names of files, and Linux takes 255 bytes for a name.
MAX_NAME = 60
MAX_PATH = 4096
MAX_COLUMN = 255
MAX_OPTION = 1000

# Options by which Spark leaves rows out and does not say so, in lower case as it compares them, and what they would do.
LOSING = {
    "ignorecorruptfiles": "pass over files that cannot be read",
    "ignoremissingfiles": "pass over files that are gone",
    "filenameonly": "take files of one name in two folders for one",
}
CORRUPT_OPTION = "columnnameofcorruptrecord"

Columns = tuple[tuple[str, DataType], ...]


@dataclass(frozen=True)
class Stream:
    """A registered stream, the first kind of feed.

    `source` is None for a stream that is handed over as a DataFrame each time.
    """

    name: str
    columns: Columns
    event_time: str
    watermark: timedelta
    source: str | None = None
    path: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    # How far ahead of the clock an event time may be, None for any distance.
    max_ahead: timedelta | None = None
    # Columns of a DataFrame that queries cannot compute with, and their types in Spark's words: no part of what the
    # stream is, only of what is said when somebody asks for such a column.
    unusable: tuple[tuple[str, str], ...] = ()
    # A path that the user wrote as relative, as it is kept: from the state folder on, since both move together.
    kept_path: str | None = None
    # Of such a path: where the files were when the stream was added, and where Spark's notes have them.
    first_path: str | None = None
    noted_path: str | None = None
    # For how long rows are kept, in the words of weft/feeds/retention.py: as `keep` of a query, no part of what it is.
    retain: str | None = None

    @property
    def retention(self) -> Retention:
        """Whether all of its rows are kept, and for how long."""
        return retention_of(self.retain)

    @property
    def schema(self) -> FeedSchema:
        return FeedSchema(self.name, dict(self.columns), self.event_time, dict(self.unusable))

    @property
    def clock(self) -> Clock:
        """What its windows are measured by."""
        return Clock.EVENT_TIME

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams whose batches bring its rows: itself."""
        return (self.name,)

    @property
    def delay(self) -> int:
        """How far the watermark stays behind the newest row, in microseconds."""
        return micros(self.watermark)

    def definition(self) -> dict[str, Any]:
        """As plain JSON values; equal definitions are the same stream."""
        return {
            "columns": [[name, str(kind)] for name, kind in self.columns],
            "event_time": self.event_time,
            "watermark": duration_text(self.watermark),
            "source": self.source,
            "path": self.path,
            "options": dict(sorted(self.options.items())),
            "max_ahead": None if self.max_ahead is None else duration_text(self.max_ahead),
        }

    def stored(self) -> dict[str, Any]:
        """The definition for the catalog, with columns of other types and a path that may begin at the state folder."""
        unusable = {"unusable": [list(column) for column in self.unusable]} if self.unusable else {}
        retain = {} if self.retain is None else {"retain": self.retain}
        stored = {**self.definition(), **unusable, **retain}
        if self.kept_path is None:
            return stored
        paths = {"first_path": self.first_path or self.path, "noted_path": self.noted_path or self.path}
        return {**stored, "path": self.kept_path, **paths}

    def differences(self, other: Stream) -> str:
        """What differs in another definition, key by key."""
        before, after = _texts(self), _texts(other)
        keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
        return "; ".join(f"{key} was {before.get(key, 'not given')}, is {after.get(key, 'not given')}" for key in keys)

    @classmethod
    def from_definition(cls, name: str, kept: Mapping[str, Any], folder: str | None = None) -> Stream:
        """A stream of the catalog; `folder` is where the state is, if that is local."""
        relative = kept["path"] if "noted_path" in kept and folder is not None else None
        columns = parse_schema(", ".join(f"{spark_identifier(column)} {kind}" for column, kind in kept["columns"]))
        return cls(
            name,
            columns,
            kept["event_time"],
            parse_duration(kept["watermark"]),
            kept["source"],
            kept["path"] if relative is None else os.path.normpath(f"{folder}/{relative}"),
            kept["options"],
            # A stream from before there was a limit has the usual limit.
            _ahead(kept.get("max_ahead", DEFAULT_AHEAD)),
            tuple((column, kind) for column, kind in kept.get("unusable", ())),
            relative,
            kept.get("first_path"),
            kept.get("noted_path"),
            parse_retain(kept.get("retain")),
        )


def define_stream(
    name: str,
    *,
    source: str | None,
    path: str | os.PathLike[str] | None,
    schema: str | None,
    dataframe: DataFrame | None,
    event_time: str,
    watermark: Duration,
    options: Mapping[str, Any] | None,
    max_ahead: Duration | None = DEFAULT_AHEAD,
    retain: Duration | None = None,
) -> Stream:
    """A stream from what the user said; refuses what cannot work, before anything is kept."""
    if not isinstance(name, str) or not name.isidentifier() or len(name) > MAX_NAME:
        hint = f"Use 1 to {MAX_NAME} letters, digits and underscores."
        raise StreamError("bad-name", f"{str(name)[:200]!r} cannot name a stream", hint=hint)
    if (source is None) == (dataframe is None):
        raise StreamError(
            "bad-source",
            "a stream is either a source or a streaming DataFrame",
            hint='Give source="parquet", path=..., schema=..., or dataframe=spark.readStream...',
        )
    unusable: tuple[tuple[str, str], ...] = ()
    if dataframe is not None:
        if not getattr(dataframe, "isStreaming", False):
            raise StreamError(
                "not-streaming",
                f"the DataFrame of stream {name!r} is not a streaming one",
                hint="Make it with spark.readStream instead of spark.read.",
            )
        schema = ", ".join(f"{spark_identifier(column)} {kind}" for column, kind in dataframe.dtypes if _usable(kind))
        unusable = tuple((column, kind) for column, kind in dataframe.dtypes if not _usable(kind))
    if schema is None:
        raise StreamError(
            "no-schema",
            f"stream {name!r} has no schema",
            hint='Give its columns, for example schema="ts timestamp, saddr string, length int".',
        )
    columns = parse_schema(schema)
    for column, _ in columns:
        check_text(column, "name of a column", MAX_COLUMN)
    # {rows} is where the text of a statement gets the name of its batch.
    inside = next((column for column, _ in columns if column.lower().startswith("weft_") or "{rows}" in column), None)
    if inside is not None:
        raise StreamError(
            "bad-name", f"{inside!r} cannot name a column: Weft uses such names itself", hint="Rename it."
        )
    wanted = event_time.lower() if isinstance(event_time, str) else None
    timed = next((column for column, _ in columns if column.lower() == wanted), None)
    kinds = {column: str(kind) for column, kind in (*columns, *unusable)}
    other = next((column for column, _ in unusable if column.lower() == wanted), None)
    if timed is None and other is None:
        raise StreamError(
            "no-event-time",
            f"stream {name!r} has no column {event_time!r} to take its time from",
            hint=f"Its columns are {', '.join(column for column, _ in columns)}.",
        )
    if timed is None or dict(columns)[timed] != TIMESTAMP:
        raise StreamError(
            "bad-event-time",
            f"column {timed or other!r} is {kinds[timed or other or '']}, not timestamp",
            hint="Declare it as timestamp, or cast it in the DataFrame that you hand over.",
        )
    delay = parse_duration(watermark)
    if delay < timedelta(0):
        raise StreamError(
            "bad-watermark",
            f"a watermark of {str(watermark)!r} would be ahead of the rows",
            hint="Say how late a row may come, for example '10 seconds'.",
        )
    if isinstance(path, os.PathLike):
        path = os.fspath(path)
    for text, what, longest in [(source, "source", MAX_OPTION), (path, "path", MAX_PATH)]:
        check_text("" if text is None else text, what, longest)
    texts = _options(name, options, columns)
    kept = parse_retain(retain)
    return Stream(name, columns, timed, delay, source, path, texts, _ahead(max_ahead), unusable, retain=kept)


def _options(stream: str, options: Mapping[str, Any] | None, columns: Columns) -> dict[str, str]:
    """The options as texts, as Spark takes them."""
    if not isinstance(options, Mapping | None) or not all(isinstance(key, str) for key in options or ()):
        hint = 'Write for example options={"header": "true"}.'
        raise StreamError("bad-option", f"the options of stream {stream!r} have no names that are texts", hint=hint)
    texts = {key: str(value) for key, value in (options or {}).items()}
    for key, value in texts.items():
        check_text(key, "name of an option", MAX_OPTION)
        # A separator may well be a tab; no option is NUL, which ends a text for programs in C.
        check_text(value.replace("\t", " ").replace("\n", " ").replace("\r", " "), f"option {key!r}", MAX_OPTION)
    # Spark reads the names of options in any case, and takes either of two that differ in case only.
    once = {key.lower(): key for key in texts}
    twice = next((key for key in texts if once[key.lower()] != key), None)
    if twice is not None:
        raise StreamError(
            "bad-option",
            f"the options {twice[:60]!r} and {once[twice.lower()][:60]!r} of stream {stream!r} are one to Spark",
            hint="Leave one of them out.",
        )
    _check_rows_kept(stream, {key.lower(): value for key, value in texts.items()}, columns)
    return texts


def _check_rows_kept(stream: str, options: Mapping[str, str], columns: Columns) -> None:
    """Refuse options, their names in lower case, by which rows or values are lost and nobody hears of it."""
    mode, column = options.get("mode", "PERMISSIVE"), options.get(CORRUPT_OPTION)
    if mode.upper() != "PERMISSIVE":
        raise StreamError(
            "bad-option",
            f"mode={mode} would lose rows of stream {stream!r}, or stop it at the first bad one",
            hint="Leave mode out: rows that cannot be parsed go to engine.dead_letters().",
        )
    for key, what in LOSING.items():
        if options.get(key, "false").lower() != "false":
            raise StreamError(
                "bad-option",
                f"{key}={options[key][:60]} would {what}, and so lose rows of stream {stream!r}",
                hint="Leave it out: files that cannot be read go to engine.dead_letters(), any other stops the stream.",
            )
    # Spark looks for that column by its very name; without it, values that do not fit their type would be NULL.
    if column is not None and dict(columns).get(column) != STRING:
        raise StreamError(
            "bad-option",
            f"columnNameOfCorruptRecord={column[:60]} is no column of type string of stream {stream!r}",
            hint="Declare it as string, or leave it out: rows that cannot be parsed go to engine.dead_letters().",
        )


def _ahead(text: Duration | None) -> timedelta | None:
    if text is None or text == ANY:
        return None
    limit = parse_duration(text)
    if limit < timedelta(0):
        raise StreamError(
            "bad-max-ahead",
            f"max_ahead={str(text)!r} would leave out rows of the past",
            hint="Say how far ahead of the clock a row's time may be, for example '1 hour', or 'any'.",
        )
    return limit


def check_text(text: str, what: str, longest: int) -> None:
    """Refuse a text with control characters or lone surrogates, or a text that is far too long; and what is no text."""
    if not isinstance(text, str):
        raise StreamError("bad-source", f"the {what} {str(text)[:60]!r} is no text", hint="Put it in quotes.")
    if len(text) > longest:
        raise StreamError("bad-source", f"the {what} has more than {longest} characters", hint="Use a shorter one.")
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in text):
        raise StreamError("bad-source", f"the {what} {text[:60]!r} holds a control character", hint="Remove it.")


def _texts(stream: Stream) -> dict[str, str]:
    """A definition as a person writes it, every option by itself."""
    kept = stream.definition()
    options = {f"option {name}": repr(value) for name, value in kept.pop("options").items()}
    schema = ", ".join(f"{name} {kind}" for name, kind in kept.pop("columns"))
    rest = {key: "none" if value is None else repr(value) for key, value in kept.items()}
    return {"schema": repr(schema), **rest, **options}


def spark_identifier(column: str) -> str:
    """The name of a column as Spark reads it, whatever is in it."""
    return "`" + column.replace("`", "``") + "`"


def _usable(kind: str) -> bool:
    """Whether queries can compute with a type; of a DataFrame's other columns only their names are kept."""
    try:
        parse_schema(f"x {kind}")
    except SqlError:
        return False
    return True
