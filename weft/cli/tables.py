"""What people see of queries and metrics: tables, and in a narrow terminal lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from weft.terminal.output import cell, text_table

SQL_WIDTH = 80
# With less room for its text a query is no line of a table any more.
MIN_SQL = 24
GAP = 2
NOTHING = "-"
DAY, HOUR, MINUTE = 86_400, 3_600, 60


def short_sql(sql: str, width: int = SQL_WIDTH) -> str:
    """The start of a text on a single line, without comment lines.

    >>> short_sql("-- the load" + chr(10) + "SELECT sum(length)" + chr(10) + "FROM packets")
    'SELECT sum(length) FROM packets'
    """
    words = " ".join(" ".join(line for line in sql.splitlines() if not line.lstrip().startswith("--")).split())
    return words if len(words) <= width else f"{words[: width - 3]}..."


def queries_table(shown: Sequence[Mapping[str, Any]], width: int) -> RenderableType:
    """Queries as a table whose texts fit beside the rest; where they do not, query below query."""
    names = ["query", "status", "stream", "window", "keep"]
    lines = [[query["name"], query["status"], query["stream"], query["window"] or "none", query["keep"]]
             for query in shown]
    taken = sum(max(map(len, column)) + GAP for column in zip(names, *lines, strict=True))
    room = min(SQL_WIDTH, width - taken)
    if room >= MIN_SQL:
        rows = [[*line, short_sql(query["sql"], room)] for line, query in zip(lines, shown, strict=True)]
        return text_table([*names, "sql"], rows)
    return Group(*(_query_lines(query, width) for query in shown))


def _query_lines(query: Mapping[str, Any], width: int) -> Text:
    window = f"window {query['window']}" if query["window"] else "no window"
    told = f"{query['stream']}, {window}, keep {query['keep']}"
    return Text(f"{query['name']}: {query['status']}\n  {told}\n  {short_sql(query['sql'], max(10, width - GAP))}")


def metrics_table(streams: Mapping[str, Mapping[str, Any]]) -> RenderableType:
    """The numbers of every stream, and below them its last tick with the seconds of every stage."""
    told = {name: dict(_stream_lines(numbers)) for name, numbers in streams.items()}
    keys = dict.fromkeys(key for lines in told.values() for key in lines)
    rows = [[key, *(lines.get(key, NOTHING) for lines in told.values())] for key in keys]
    return text_table(["metric", *told], rows, right=[False, *(True for _ in told)])


def _stream_lines(numbers: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in numbers.items():
        if key == "lag_seconds":
            yield "lag", NOTHING if value is None else span_text(value)
        elif key == "plan":
            yield from ((f"plan: {name}", number_text(number)) for name, number in value.items())
        elif key == "kept":
            said = value if value["retain"] or value["rows"] else {"rows": None}
            yield from ((f"kept: {name}", number_text(number)) for name, number in said.items())
        elif key not in ("last_tick", "recent_ticks"):
            yield key, number_text(value)
    tick = numbers["last_tick"]
    yield from ((f"last tick: {key}", number_text(tick[key])) for key in ("rows", "dead", "jobs", "partial_rows")
                if key in tick)
    stages = tick.get("seconds", {})
    if stages:
        yield "last tick: seconds", f"{sum(stages.values()):.3f}"
        for name, seconds in sorted(stages.items(), key=lambda stage: -stage[1]):
            yield f"  {name}", f"{seconds:.3f}"


def number_text(value: Any) -> str:
    """A number, a moment, a text or counts by name, for people."""
    if value is None or value == {}:
        return NOTHING
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {number_text(count)}" for name, count in value.items())
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else cell(value)


def span_text(seconds: float) -> str:
    """A time that passed, in its two largest units.

    >>> span_text(3.25), span_text(-0.5), span_text(3725), span_text(27_000_000)
    ('3.2 s', '-0.5 s', '1 h 2 min', '312 d 12 h')
    """
    if abs(seconds) < MINUTE:
        return f"{seconds:.1f} s"
    sign, rest = "-" if seconds < 0 else "", round(abs(seconds))
    parts: list[str] = []
    for unit, size in (("d", DAY), ("h", HOUR), ("min", MINUTE), ("s", 1)):
        count, rest = divmod(rest, size)
        if count or parts:
            parts.append(f"{count} {unit}")
    return sign + " ".join(parts[:2])
