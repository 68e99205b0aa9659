"""Tables and values on a terminal, and the same for scripts."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from weft.terminal.values import FarMoment, values

# Where there is no terminal there is no width: nothing is cut or wrapped.
WIDE = 10_000


def console() -> Console:
    """The terminal, or a plain console that never wraps; built anew, because tests and pipes exchange stdout."""
    return Console(file=sys.stdout, highlight=False, soft_wrap=False, width=None if sys.stdout.isatty() else WIDE)


def say(words: str) -> None:
    """A line for people, beside the output."""
    print(words, file=sys.stderr, flush=True)


def print_json(value: Any, *, lines: bool = False) -> None:
    """JSON on stdout; with `lines`, on a single line."""
    print(json.dumps(plain(value), indent=None if lines else 2, ensure_ascii=False), flush=True)


def plain(value: Any) -> Any:
    """A value as JSON has it: moments as ISO 8601 in UTC, decimals and what is no number as text."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, FarMoment):
        return value.iso()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, Decimal | date | timedelta | bytes):
        return str(value)
    return value


def iso(moment: datetime) -> str:
    """A moment in UTC.

    >>> iso(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    '2026-01-02T03:04:05Z'
    """
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def cell(value: Any) -> str:
    """A value for people."""
    if value is None:
        return "NULL"
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(sep=" ").replace("+00:00", "")
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def many(count: int, singular: str, plural: str | None = None) -> str:
    """A count and what is counted.

    >>> many(1, "query", "queries"), many(2000, "row")
    ('1 query', '2,000 rows')
    """
    return f"1 {singular}" if count == 1 else f"{count:,} {plural or singular + 's'}"


def rows_table(table: pa.Table, *, title: str | None = None, limit: int | None = None) -> Table:
    """An Arrow table for people, numbers to the right."""
    shown = table if limit is None else table.slice(0, limit)
    right = [pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
             for kind in table.schema.types]
    # Columns may share a name, so rows are read by position.
    columns = [values(column) for column in shown.columns]
    rows = [[cell(value) for value in row] for row in zip(*columns, strict=True)]
    return text_table(table.schema.names, rows, right=right, title=title)


def text_table(names: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[bool] = (),
               title: str | None = None) -> Table:
    """A table of texts; user data is never read as markup."""
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False, show_edge=False)
    for index, name in enumerate(names):
        table.add_column(Text(name), justify="right" if index < len(right) and right[index] else "left",
                        overflow="fold")
    for row in rows:
        table.add_row(*(Text(value) for value in row))
    return table
