"""Stream scripts: rows go in a tick at a time, and what each tick closes, drops and moves comes out as text.

source s (k string, n int, at timestamp) time at watermark 10 seconds
register name: SQL
drop name
plan                    the network as text
read name               the newest result of a query
restart                 a new engine on the same folder
rows                    the lines that follow are the rows of one tick: values by commas, times as hh:mm:ss
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import weft
import weft.testing
from weft.algebra.types import DataType
from weft.segments.types import arrow_type
from weft.sql.ddl import parse_schema

SOURCE = re.compile(r"source (\w+) \((.*)\) time (\w+) watermark (.*)")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ScriptError(Exception):
    """A script that says something that scripts cannot say."""


class Script:
    """One run of a script. `only` registers one of its queries and leaves the others out.

    With a session all rows are computed on Spark; without, Spark computes only what nobody else can.
    """

    def __init__(
        self, folder: Path, spark: SparkSession | None = None, *, only: str | None = None, restarts: bool = False
    ) -> None:
        self._folder, self._spark, self._only, self._restarts = folder, spark, only, restarts
        self._engine = weft.Engine(folder, spark=spark)
        self._stream, self._ddl = "", ""
        self._seen: dict[str, datetime] = {}
        self.queries: list[str] = []

    def step(self, text: str) -> str:
        """Run the directives of a block; what they print."""
        out: list[str] = []
        lines = [line for line in text.split("\n") if line.strip() and not line.startswith("#")]
        while lines:
            line = lines.pop(0)
            word, _, rest = line.partition(" ")
            match word:
                case "source":
                    self._source(line)
                case "register":
                    self._register(rest)
                case "drop" if self._wanted(rest):
                    self._engine.query(rest).drop()
                case "drop":
                    pass
                case "plan":
                    out.append(self._engine.explain())
                case "read":
                    out += self._read(rest)
                case "restart":
                    self._restart()
                case "rows" if not rest:
                    rows, lines = lines, []
                    out += self._tick(rows)
                case _:
                    raise ScriptError(f"unknown directive {line!r}")
        if self._restarts:
            self._restart()
        return "\n".join(out) or "ok"

    def close(self) -> None:
        self._engine.close()

    def _wanted(self, name: str) -> bool:
        return self._only in (None, name)

    def _source(self, line: str) -> None:
        found = SOURCE.fullmatch(line)
        if found is None:
            raise ScriptError(f"cannot read {line!r}")
        self._stream, self._ddl, time, watermark = found.groups()
        self._engine.add_stream(
            self._stream,
            source="parquet",
            path=self._folder / "none",
            schema=self._ddl,
            event_time=time,
            watermark=watermark,
        )

    def _register(self, text: str) -> None:
        name, _, sql = text.partition(": ")
        if not sql:
            raise ScriptError(f"register needs a name and SQL, not {text!r}")
        self.queries.append(name)
        if self._wanted(name):
            self._engine.register(sql, name=name)
            self._seen[name] = self._newest_end(name)

    def _newest_end(self, name: str) -> datetime:
        """Windows before this were closed before the query came: they are its history, not news."""
        watermark = self._engine.state_of(self._stream).watermark
        return EPOCH if watermark is None else moment(watermark)

    def _tick(self, lines: list[str]) -> list[str]:
        before = {name: self._late(name) for name in self._seen if self._alive(name)}
        weft.testing.feed(self._engine, self._stream, table(self._ddl, lines), spark=self._spark is not None)
        state = self._engine.state_of(self._stream)
        assert state.watermark is not None
        out = []
        for name in [name for name in self._seen if self._alive(name)]:
            query = self._engine.query(name)
            if self._engine.registry.query(name).needs.window is None:
                out += [f"{name} " + show(row) for row in query.changes(since=state.batch_id - 1).to_pylist()]
                continue
            out += [f"{name} " + show(row) for row in query.results(since=self._seen[name]).to_pylist()]
            self._seen[name] = max(self._seen[name], moment(state.watermark))
        dropped = [
            f"{name} dropped {self._late(name) - count}" for name, count in before.items() if self._late(name) > count
        ]
        return [*out, *dropped, f"watermark {seconds(moment(state.watermark))}"]

    def _read(self, name: str) -> list[str]:
        if not self._wanted(name):
            return []
        rows = self._engine.query(name).result().to_pylist()
        return [f"{name} " + show(row) for row in rows] or [f"{name} empty"]

    def _alive(self, name: str) -> bool:
        return name in self._engine.registry.queries()

    def _late(self, name: str) -> int:
        return int(self._engine.query(name).metrics()["late_rows"])

    def _restart(self) -> None:
        self._engine.close()
        self._engine = weft.Engine(self._folder, spark=self._spark)


def table(ddl: str, lines: list[str]) -> pa.Table:
    """Rows as text become a table of the stream's types; a tick without rows is a mistake in the script."""
    if not lines:
        raise ScriptError("rows needs at least one row")
    columns = parse_schema(ddl)
    values = [[part.strip() for part in line.split(",")] for line in lines]
    if any(len(row) != len(columns) for row in values):
        raise ScriptError(f"every row needs {len(columns)} values")
    return pa.table(
        {
            name: pa.array([value(row[place], kind) for row in values], arrow_type(kind))
            for place, (name, kind) in enumerate(columns)
        }
    )


def value(text: str, kind: DataType) -> Any:
    if text == "null":
        return None
    if kind.name == "timestamp":
        return datetime.fromisoformat(f"1970-01-01T{text}+00:00")
    if kind.is_integral:
        return int(text)
    return Decimal(text) if kind.is_decimal else float(text) if kind.is_fractional else text.strip("'")


def show(row: dict[str, Any]) -> str:
    """A row of a result: its window in seconds, then its values."""
    parts = []
    if "window_end" in row:
        parts.append(f"[{seconds(row.pop('window_start'))}, {seconds(row.pop('window_end'))})")
    row.pop("tick", None)
    return " ".join([*parts, *("null" if value is None else f"{value}" for value in row.values())])


def moment(micros: int) -> datetime:
    return datetime.fromtimestamp(micros / 1_000_000, UTC)


def seconds(at: datetime) -> str:
    return f"{(at - EPOCH).total_seconds():g}s"
