"""Bad input of every format, and what becomes of it: the bytes of one file, the letters that it leaves, the rows that count.

The table in docs/guarantees.md says the same in words.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

from weft.spark.dead import AHEAD, BAD_FILE, BEHIND, NO_TIME, UNPARSABLE

DDL = "ts timestamp, k string, n int"
GOOD = 3  # rows of a good file


@dataclass(frozen=True)
class Case:
    """One bad input: its format, the bytes of the bad file, and what becomes of it."""

    name: str
    source: str
    content: bytes | Callable[[Path], None]
    dead: dict[str, int] = field(default_factory=dict)
    counted: int = 0
    total: int = 0
    options: dict[str, object] = field(default_factory=dict)


def lines(*rows: str) -> bytes:
    return ("\n".join(rows) + "\n").encode()


def table(**changed: object) -> pa.Table:
    columns: dict[str, object] = {
        "ts": pa.array([10_000_000 + second * 1_000_000 for second in range(GOOD)], pa.timestamp("us", tz="UTC")),
        "k": pa.array(["a", "b", "a"]),
        "n": pa.array([1, 2, 3], pa.int32()),
    }
    columns.update(changed)
    return pa.table({name: column for name, column in columns.items() if column is not None})


def parquet(**changed: object) -> Callable[[Path], None]:
    return lambda path: pq.write_table(table(**changed), path)


def broken_parquet(damage: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        pq.write_table(table(), path)
        path.write_bytes(damage(path.read_bytes()))

    return write


def compressed_rubbish(path: Path) -> None:
    pq.write_table(table(), path, compression="snappy")
    data = bytearray(path.read_bytes())
    data[4:40] = b"\xff" * 36
    path.write_bytes(bytes(data))


FAR = (datetime.now(UTC) + timedelta(days=400)).isoformat()
NEAR = (datetime.now(UTC) + timedelta(minutes=5)).isoformat()
# A name that is longer than what Jackson takes for one text.
ENDLESS = 100_000_000
J = '{"ts": "1970-01-01T00:00:10Z", "k": "a", "n": 5}'

JSON = [
    Case("truncated", "json", lines(J, '{"ts": "1970-01-01T00:00:10Z", "k": "a"'), {UNPARSABLE: 1}, 1, 5),
    Case("not json", "json", lines("hello", J), {UNPARSABLE: 1}, 1, 5),
    Case("text for a number", "json", lines(J.replace("5", '"five"')), {UNPARSABLE: 1}),
    Case("number too long", "json", lines(J.replace("5", "99999999999")), {UNPARSABLE: 1}),
    Case("fraction for a number", "json", lines(J.replace("5", "1.5")), {UNPARSABLE: 1}),
    Case("object for a text", "json", lines('{"ts": "1970-01-01T00:00:10Z", "k": {"x": 1}, "n": 1}'), {}, 1, 1),
    Case("list instead of an object", "json", lines("[1, 2]"), {UNPARSABLE: 1}),
    Case("bad time", "json", lines('{"ts": "yesterday", "k": "a", "n": 1}'), {UNPARSABLE: 1}),
    Case("no time", "json", lines('{"k": "a", "n": 1}'), {NO_TIME: 1}),
    Case("time is null", "json", lines('{"ts": null, "k": "a", "n": 1}', J), {NO_TIME: 1}, 1, 5),
    Case("far ahead", "json", lines(json.dumps({"ts": FAR, "k": "a", "n": 1}), J), {AHEAD: 1}, 1, 5),
    Case("three kinds", "json", lines("x", '{"k": "a"}', json.dumps({"ts": FAR}), J),
         {UNPARSABLE: 1, NO_TIME: 1, AHEAD: 1}, 1, 5),
    Case("empty file", "json", b""),
    Case("blank lines", "json", b"\n\n\n"),
    Case("missing field", "json", lines('{"ts": "1970-01-01T00:00:10Z", "k": "a"}'), {}, 1, 0),
    Case("extra field", "json", lines(J[:-1] + ', "more": [1]}'), {}, 1, 5),
    Case("byte order mark", "json", b"\xef\xbb\xbf" + lines(J), {}, 1, 5),
    Case("bytes that are no text", "json", b"\x80\x81\xfe\n" + lines(J), {UNPARSABLE: 1}, 1, 5),
    Case("null bytes", "json", b"\x00\x00\x00\n" + lines(J), {UNPARSABLE: 1}, 1, 5),
    Case("a line of ten megabytes", "json", lines(J.replace('"a"', '"' + "y" * 10_000_000 + '"')), {}, 1, 5),
    Case("a line of a hundred megabytes", "json", lambda path: path.write_text(J.replace('"a"', '"' + "y" * ENDLESS + '"')),
         {UNPARSABLE: 1}),
    Case("deep nesting", "json", lines("[" * 5000), {UNPARSABLE: 1}),
    # Schema drift.
    Case("column renamed", "json", lines(J.replace('"n"', '"m"')), {}, 1, 0),
    Case("event time renamed", "json", lines(J.replace('"ts"', '"time"')), {NO_TIME: 1}),
    Case("columns in another order", "json", lines('{"n": 5, "k": "a", "ts": "1970-01-01T00:00:10Z"}'), {}, 1, 5),
    Case("other letters' case", "json", lines(J.replace('"n"', '"N"')), {}, 1, 0),
    Case("number for a text", "json", lines(J.replace('"a"', "7")), {}, 1, 5),
]
ROW = "1970-01-01 00:00:10,a,5"


def headed(name: str, row: str = "", *outcome: object, header: str | None = "ts,k,n", **options: str) -> Case:
    """A CSV file with a header, in a stream that expects one."""
    content = b"" if header is None else lines(*(line for line in (header, row) if line))
    return Case(f"{name}, with a header", "csv", content, *outcome, options={"header": True, **options})  # type: ignore[arg-type]


CSV = [
    Case("text for a number", "csv", lines("1970-01-01 00:00:10,a,x", "1970-01-01 00:00:10,a,5"), {UNPARSABLE: 1}, 1, 5),
    Case("too few columns", "csv", lines("1970-01-01 00:00:10,a"), {UNPARSABLE: 1}),
    Case("too many columns", "csv", lines("1970-01-01 00:00:10,a,5,6"), {UNPARSABLE: 1}),
    Case("bad time", "csv", lines("soon,a,5"), {UNPARSABLE: 1}),
    Case("no time", "csv", lines(",a,5"), {NO_TIME: 1}),
    Case("far ahead", "csv", lines(f"{FAR},a,5"), {AHEAD: 1}),
    Case("near ahead is in time", "csv", lines(f"{NEAR},a,5"), {}, 1, 5),
    Case("empty file", "csv", b""),
    Case("number too long", "csv", lines("1970-01-01 00:00:10,a,99999999999"), {UNPARSABLE: 1}),
    Case("open quote", "csv", lines('1970-01-01 00:00:10,"a,5'), {UNPARSABLE: 1}),
    # With a header, whose names are those of the columns or the file is not read.
    headed("right header", ROW, {}, 1, 5),
    headed("only a header"),
    headed("empty file", header=None),
    headed("bad row", "1970-01-01 00:00:10,a,x", {UNPARSABLE: 1}),
    headed("byte order mark", ROW, {}, 1, 5, header="\ufeffts,k,n"),
    headed("other letters' case", ROW, {}, 1, 5, header="TS,K,N"),
    headed("columns in another order", "1970-01-01 00:00:10,5,6", {BAD_FILE: 1}, header="ts,n,k"),
    headed("column renamed", ROW, {BAD_FILE: 1}, header="ts,k,m"),
    headed("event time renamed", ROW, {BAD_FILE: 1}, header="time,k,n"),
    headed("column added", ROW + ",6", {BAD_FILE: 1}, header="ts,k,n,more"),
    headed("column dropped", "1970-01-01 00:00:10,a", {BAD_FILE: 1}, header="ts,k"),
    headed("no header", ROW, {BAD_FILE: 1}, header=ROW),
    headed("by place, on request", "1970-01-01 00:00:10,5,6", {}, 1, 6, header="ts,n,k", enforceSchema="true"),
]
PARQUET = [
    Case("not parquet", "parquet", b"this is no parquet file at all", {BAD_FILE: 1}),
    Case("empty file", "parquet", b""),
    Case("truncated", "parquet", broken_parquet(lambda data: data[: len(data) // 2]), {BAD_FILE: 1}),
    Case("foot cut off", "parquet", broken_parquet(lambda data: data[:-8]), {BAD_FILE: 1}),
    Case("pages overwritten", "parquet", compressed_rubbish, {BAD_FILE: 1}),
    Case("csv in disguise", "parquet", lines("1970-01-01 00:00:10,a,5"), {BAD_FILE: 1}),
    Case("no times", "parquet", parquet(ts=pa.nulls(GOOD, pa.timestamp("us", tz="UTC"))), {NO_TIME: GOOD}),
    Case("times at both ends of what fits", "parquet",
         parquet(ts=pa.array([-(2**63), 2**63 - 1, 10_000_000], pa.timestamp("us", tz="UTC"))), {BEHIND: 1, AHEAD: 1}, 1, 3),
    # Schema drift.
    Case("column added", "parquet", parquet(more=pa.array([1, 2, 3])), {}, GOOD, 6),
    Case("column dropped", "parquet", parquet(n=None), {}, GOOD, 0),
    Case("column renamed", "parquet", lambda path: pq.write_table(table().rename_columns(["ts", "k", "m"]), path),
         {}, GOOD, 0),
    Case("event time dropped", "parquet", parquet(ts=None), {NO_TIME: GOOD}),
    Case("event time renamed", "parquet", lambda path: pq.write_table(table().rename_columns(["time", "k", "n"]), path),
         {NO_TIME: GOOD}),
    Case("narrower number", "parquet", parquet(n=pa.array([1, 2, 3], pa.int16())), {}, GOOD, 6),
    Case("wider number", "parquet", parquet(n=pa.array([1, 2, 3], pa.int64())), {BAD_FILE: 1}),
    Case("text for a number", "parquet", parquet(n=pa.array(["1", "2", "3"])), {BAD_FILE: 1}),
    Case("text for a time", "parquet", parquet(ts=pa.array(["1970-01-01 00:00:10"] * GOOD)), {BAD_FILE: 1}),
    Case("fraction for a number", "parquet", parquet(n=pa.array([1.5, 2, 3])), {BAD_FILE: 1}),
    Case("number for a text", "parquet", parquet(k=pa.array([1, 2, 3])), {BAD_FILE: 1}),
    Case("columns in another order", "parquet", lambda path: pq.write_table(table().select(["n", "ts", "k"]), path),
         {}, GOOD, 6),
    Case("other letters' case", "parquet", lambda path: pq.write_table(table().rename_columns(["TS", "K", "N"]), path),
         {}, GOOD, 6),
]


def as_orc(changed: pa.Table) -> Callable[[Path], None]:
    return lambda path: orc.write_table(changed, str(path))


def cut_orc(path: Path) -> None:
    orc.write_table(table(), str(path))
    path.write_bytes(path.read_bytes()[:40])


ORC = [
    Case("not orc", "orc", b"this is no orc file", {BAD_FILE: 1}),
    Case("truncated", "orc", cut_orc, {BAD_FILE: 1}),
    Case("empty file", "orc", b""),
    Case("no times", "orc", as_orc(table(ts=pa.nulls(GOOD, pa.timestamp("us", tz="UTC")))), {NO_TIME: GOOD}),
    # Schema drift.
    Case("column added", "orc", as_orc(table(more=pa.array([1, 2, 3]))), {}, GOOD, 6),
    Case("column dropped", "orc", as_orc(table(n=None)), {}, GOOD, 0),
    Case("column renamed", "orc", as_orc(table().rename_columns(["ts", "k", "m"])), {}, GOOD, 0),
    Case("event time renamed", "orc", as_orc(table().rename_columns(["time", "k", "n"])), {NO_TIME: GOOD}),
    Case("narrower number", "orc", as_orc(table(n=pa.array([1, 2, 3], pa.int16()))), {}, GOOD, 6),
    Case("wider number", "orc", as_orc(table(n=pa.array([1, 2, 3], pa.int64()))), {BAD_FILE: 1}),
    Case("text for a number", "orc", as_orc(table(n=pa.array(["1", "2", "x"]))), {BAD_FILE: 1}),
    Case("fraction for a number", "orc", as_orc(table(n=pa.array([1.5, 2, 3]))), {BAD_FILE: 1}),
    Case("text for a time", "orc", as_orc(table(ts=pa.array(["1970-01-01 00:00:10"] * GOOD))), {BAD_FILE: 1}),
    Case("number for a text", "orc", as_orc(table(k=pa.array([1, 2, 3]))), {}, GOOD, 6),
    Case("columns in another order", "orc", as_orc(table().select(["n", "ts", "k"])), {}, GOOD, 6),
    Case("other letters' case", "orc", as_orc(table().rename_columns(["TS", "K", "N"])), {}, GOOD, 6),
]
X = "<row><ts>1970-01-01T00:00:10Z</ts><k>a</k><n>5</n></row>"


def xml(name: str, rows: str, *outcome: object, end: str = "</rows>") -> Case:
    """An XML file, whose rows are its elements <row>."""
    content = f"<rows>{rows}{end}".encode()
    return Case(name, "xml", content, *outcome, options={"rowTag": "row"})  # type: ignore[arg-type]


# Where XML is broken nobody can say where the next row begins: all that follows in the file is one letter.
XML = [
    xml("right", X + X, {}, 2, 10),
    xml("truncated", X + X[:30], {UNPARSABLE: 1}, 1, 5, end=""),
    xml("foot cut off", X, {}, 1, 5, end=""),
    xml("broken in its middle", X + X.replace("</k>", "</j>") + X, {UNPARSABLE: 1}, 1, 5),
    xml("rubbish between rows", X + " & < " + X, {UNPARSABLE: 1}, 1, 5),
    xml("text for a number", X + X.replace("5", "five") + X, {UNPARSABLE: 1}, 2, 10),
    xml("number too long", X.replace("5", "99999999999"), {UNPARSABLE: 1}),
    xml("fraction for a number", X.replace("5", "1.5"), {UNPARSABLE: 1}),
    xml("bad time", X.replace("1970-01-01T00:00:10Z", "soon") + X, {UNPARSABLE: 1}, 1, 5),
    xml("no time", "<row><k>a</k><n>1</n></row>" + X, {NO_TIME: 1}, 1, 5),
    xml("far ahead", X.replace("1970-01-01T00:00:10Z", FAR), {AHEAD: 1}),
    xml("elements for a text", X.replace(">a<", "><x>1</x><"), {}, 1, 5),
    Case("not xml", "xml", b"this is no xml", {UNPARSABLE: 1}, options={"rowTag": "row"}),
    Case("bytes that are no text", "xml", f"<rows>{X}".encode() + X.encode().replace(b">a<", b">\xff\xfe<"), {BAD_FILE: 1},
         options={"rowTag": "row"}),
    Case("empty file", "xml", b"", options={"rowTag": "row"}),
    # Schema drift.
    xml("column added", X.replace("</row>", "<more>1</more></row>"), {}, 1, 5),
    xml("column dropped", X.replace("<n>5</n>", ""), {}, 1, 0),
    xml("column renamed", X.replace("n>", "m>"), {}, 1, 0),
    xml("event time renamed", X.replace("ts>", "time>"), {NO_TIME: 1}),
    xml("columns in another order", "<row><n>5</n><k>a</k><ts>1970-01-01T00:00:10Z</ts></row>", {}, 1, 5),
    xml("other letters' case", X.replace("n>", "N>"), {}, 1, 5),
    xml("another tag for rows", X.replace("row>", "line>")),
]
CASES = {"xml": XML, "json": JSON, "csv": CSV, "parquet": PARQUET, "orc": ORC}


def outcomes(cases: list[Case]) -> list[Case]:
    """The first case of every outcome: for which reasons rows are left out, and whether others of the file count."""
    first: dict[tuple[frozenset[str], bool], Case] = {}
    for case in cases:
        first.setdefault((frozenset(case.dead), case.counted > 0), case)
    return list(first.values())


def good_file(source: str, path: Path, header: bool = False) -> None:
    if source == "parquet":
        pq.write_table(table(), path)
    elif source == "orc":
        orc.write_table(table(), str(path))
    elif source == "csv":
        rows = (f"1970-01-01 00:00:{10 + place},a,{place + 1}" for place in range(GOOD))
        path.write_bytes(lines(*(["ts,k,n"] if header else []), *rows))
    elif source == "xml":
        path.write_text("<rows>" + "".join(X.replace("5", str(place + 1)) for place in range(GOOD)) + "</rows>")
    else:
        path.write_bytes(lines(*(J.replace("5", str(place + 1)) for place in range(GOOD))))


def write_case(folder: Path, case: Case) -> None:
    """A folder of its own for the case: good, bad, good, in this order."""
    folder.mkdir(parents=True)
    for place, name in enumerate(("1-good", "2-bad", "3-good")):
        path = folder / name
        if place != 1:
            good_file(case.source, path, header="header" in case.options)
        elif callable(case.content):
            case.content(path)
        else:
            path.write_bytes(case.content)
        # Spark takes files in the order of their times.
        os.utime(path, (1_600_000_000 + place, 1_600_000_000 + place))
