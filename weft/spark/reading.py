"""How a stream's source is read: by its streaming query, and again, file by file, when something in it is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from weft.feeds.streams import CORRUPT_OPTION, Stream, spark_identifier
from weft.spark.dead import CORRUPT, PARSED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader

FILE_SOURCES = frozenset({"avro", "csv", "json", "orc", "parquet", "text", "xml"})
# Options of the streaming source alone; the batch reader of the same format does not know them.
STREAMING_OPTIONS = frozenset(
    {"maxfilespertrigger", "maxbytespertrigger", "latestfirst", "filenameonly", "maxfileage", "cleansource"}
    | {"sourcearchivedir", "maxcachedfiles", "discardcachedinputratio"}
)
# Spark takes the columns of a CSV file by their position whatever its header says, unless this is "false": then a file
# with another header fails, and numbers of a column are never counted as numbers of another.
BY_POSITION = "enforceschema"
# Spark passes over a file that is so much older than the newest it has read, by default a week, and says nothing. Files
# are copied with their dates: this is more than lies between any two files.
FILE_AGE, ANY_AGE = "maxfileage", "1000000d"
# Whatever the session says, which may be the user's own: a file that is gone or unreadable is never passed over.
NONE_IGNORED = {"ignorecorruptfiles": "false", "ignoremissingfiles": "false"}
# Moments without a zone, in texts and in the names of folders, are in UTC whatever zone the session has, which
# may be the user's own: a file that is read again by a tick, whose session is in UTC, gives the same moments.
ZONE, UTC = "timezone", "UTC"
# What makes a path a pattern to Hadoop.
GLOB = frozenset("{}[]*?\\")

SparkReader = TypeVar("SparkReader", "DataStreamReader", "DataFrameReader")


def is_file_source(stream: Stream) -> bool:
    """Whether Spark keeps a list of the files that a batch covers."""
    return stream.source is not None and stream.source.lower() in FILE_SOURCES


def configured(reader: SparkReader, stream: Stream, options: Mapping[str, str]) -> SparkReader:
    """A reader with the stream's format and columns; rows that cannot be parsed keep their text in CORRUPT."""
    assert stream.source is not None
    columns = [f"{spark_identifier(name)} {kind}" for name, kind in stream.columns]
    user_options = {name.lower() for name in stream.options}
    if stream.source.lower() == "csv" and BY_POSITION not in user_options:
        reader = reader.option(BY_POSITION, "false")
    # A user who names a column for such rows wants to deal with them alone.
    if stream.source.lower() in PARSED and CORRUPT_OPTION not in user_options:
        columns.append(f"{CORRUPT} string")
        reader = reader.option("columnNameOfCorruptRecord", CORRUPT)
    defaults = dict(NONE_IGNORED) if is_file_source(stream) else {}
    if is_file_source(stream) and ZONE not in user_options:
        defaults[ZONE] = UTC
    return reader.format(stream.source).options(**{**options, **defaults}).schema(", ".join(columns))


def open_stream(session: SparkSession, stream: Stream) -> DataFrame:
    """The rows of a stream's source as they arrive."""
    defaults = {}
    if is_file_source(stream) and FILE_AGE not in {name.lower() for name in stream.options}:
        defaults[FILE_AGE] = ANY_AGE
    reader = configured(session.readStream, stream, {**stream.options, **defaults})
    return reader.load(stream.path) if stream.path is not None else reader.load()


def read_files(session: SparkSession, stream: Stream, files: Sequence[str]) -> DataFrame:
    """Read files of a stream once more, as rows of a batch and exactly as the stream reads them.

    Names of files are not patterns, and columns that stand in the names of folders are read below the stream's path.
    """
    below = {"basePath": stream.path} if stream.path is not None and not GLOB & set(stream.path) else {}
    return configured(session.read, stream, {**below, **_options(stream)}).load(list(files))


def types_in(session: SparkSession, stream: Stream, files: Sequence[str]) -> dict[str, str]:
    """The types that the files themselves give their columns, by name in lower case."""
    assert stream.source is not None
    reader = session.read.format(stream.source).options(**{**_options(stream), **NONE_IGNORED, "mergeSchema": "true"})
    return {field.name.lower(): field.dataType.simpleString() for field in reader.load(list(files)).schema.fields}


def _options(stream: Stream) -> dict[str, str]:
    """The options of a reader of single files."""
    of_files = {name: value for name, value in stream.options.items() if name.lower() not in STREAMING_OPTIONS}
    return {**of_files, "__globPaths__": "false"}
