"""`weft results`: the answers of a query, read from the state without Spark; `--follow` goes on as windows close."""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import pyarrow as pa
import typer

from weft.algebra.windows import Sliced
from weft.cli.state import JsonOption, StateOption, complete_query, find_query, open_state
from weft.errors import EngineError
from weft.read.moments import moment_of
from weft.terminal.output import console, many, plain, print_json, rows_table, say
from weft.terminal.values import for_csv, from_micros, values

if TYPE_CHECKING:
    from weft.engine import Engine

EXAMPLES = """[bold]Examples[/bold]

weft results top_talkers

weft results top_talkers --since 2026-01-01T12:00 --until 2026-01-01T13:00 --format csv > hour.csv

weft results top_talkers --since 2026-01-01 --format parquet --output talkers.parquet

weft results top_talkers --follow --json"""


class Format(StrEnum):
    """How results are written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


def results(
    name: Annotated[str, typer.Argument(help="The query.", autocompletion=complete_query)],
    form: Annotated[Format, typer.Option("--format", help="How to write them.")] = Format.TABLE,
    since: Annotated[str | None, typer.Option(help="Windows that end after this moment (ISO 8601, UTC).")] = None,
    until: Annotated[str | None, typer.Option(help="Windows that end at or before this moment.")] = None,
    latest: Annotated[bool, typer.Option("--latest", help="The newest closed window that has rows.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on as windows close, until --until or Ctrl-C.")] = False,
    every: Annotated[float, typer.Option(min=0.05, help="Seconds between two looks when following.")] = 1.0,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a query's newest closed window, or all windows of a span; of a query without a window, its totals.

    Windows are named by their end. Times are UTC. JSON is a list of objects, with --follow one object a line.
    """
    form = Format.JSON if as_json else form
    span = (parse_moment("--since", since), parse_moment("--until", until))
    if follow and (output is not None or form is Format.PARQUET):
        raise EngineError("cannot-follow", "results can be followed on standard output only, and not as Parquet",
                          hint="Use --format json and let the shell write the file.")
    if latest and (follow or span != (None, None)):
        raise EngineError("latest-or-span", "--latest is one window: it goes with neither --follow nor a span",
                          hint="Leave out --latest, or all of --since, --until and --follow.")
    with open_state(state) as engine:
        if follow:
            try:
                for look, table in enumerate(following(engine, name, *span, every=every)):
                    _write_more(table, form, header=look == 0)
            except KeyboardInterrupt:
                return
        else:
            table = find_query(engine, name).latest() if latest else read(engine, name, *span)
            write(table, form, output)
            if not table.num_rows:
                say(why_empty(engine, name, any_window=latest))


def read(engine: Engine, name: str, since: datetime | None, until: datetime | None) -> pa.Table:
    """Read the newest window, or the windows of a span where the options name it."""
    query = find_query(engine, name)
    if since is None and until is None:
        return query.result()
    return query.results(since=since, until=until)


def why_empty(engine: Engine, name: str, *, any_window: bool = False) -> str:
    """What a reader of an empty result should know."""
    registered = engine.registry.query(name)
    state = engine.state_of(registered.row.stream)
    if state.watermark is None:
        return f"nothing has arrived on stream {registered.row.stream!r} yet"
    if registered.row.from_batch is None:
        return "the query takes effect at the stream's next tick"
    if any_window:
        return "no closed window that is kept has rows"
    more = "; --latest shows the newest window that has rows" if registered.needs.window.clock.sliced else ""
    return f"no group has rows here, or HAVING leaves none{more}"


def following(engine: Engine, name: str, since: datetime | None, until: datetime | None, *,
              every: float) -> Iterator[pa.Table]:
    """The newest closed window (before `until`) or the windows since a moment, then what is new at every look.

    Ends when `until` is passed, and when nobody reads on, which a stream that is idle would never notice by writing.
    """
    seen, tick = since, -1
    while True:
        # Another process may have dropped the query, or its first tick may have said from when on it is whole.
        engine.registry.refresh()
        query, registered = find_query(engine, name), engine.registry.query(name)
        window = registered.needs.window
        if not isinstance(window, Sliced):
            table = query.changes(since=tick)
            tick = max(table.column(0).to_pylist(), default=tick)
            if table.num_rows:
                yield table
        else:
            # Read once: the state may move on between two reads, and a window must be shown once.
            watermark = engine.state_of(registered.row.stream).watermark
            now = from_micros(watermark)
            if watermark is not None and now is not None:
                last = now if until is None else min(now, until)
                newest = from_micros(window.newest_closed_end(moment_of(last)))
                # In parts, because a tick may close more windows than a call reads.
                tables = [query.result(end=newest)] if seen is None else query.results_in_parts(since=seen, until=last)
                yield from (table for table in tables if table.num_rows)
                seen = last
            elif watermark is None and seen is None:
                # Nothing has arrived yet: every window that will close is new.
                seen = datetime.min.replace(tzinfo=UTC)
        if until is not None and seen is not None and seen >= until:
            return
        if reader_leaves(every):
            return


def reader_leaves(seconds: float) -> bool:
    """Wait; True, and sooner, when whoever reads standard output has closed it, like `head`."""
    try:
        output = sys.stdout.fileno()
    except (OSError, ValueError):  # no file: somebody reads it from memory
        time.sleep(seconds)
        return False
    closed = select.poll()
    # No event is asked for: that the other end is gone is told unasked.
    closed.register(output, 0)
    return bool(closed.poll(seconds * 1000))


def parse_moment(option: str, text: str | None) -> datetime | None:
    """The moment that an option names."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise EngineError("bad-moment", f"{option} {text!r} is no moment",
                          hint="Write for example 2026-01-31T12:00:00, or 2026-01-31.") from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def write(table: pa.Table, form: Format, output: Path | None) -> None:
    """Write a table to standard output or into a file."""
    if form is Format.TABLE:
        if output is not None:
            raise EngineError("no-file-format", "a table is for the terminal", hint="Add --format csv, for example.")
        console().print(rows_table(table))
        say(many(table.num_rows, "row"))
    elif form is Format.JSON and output is None:
        print_json(_objects(table))
    elif output is None and form is Format.PARQUET and sys.stdout.isatty():
        raise EngineError("no-output", "Parquet is no text", hint="Add --output file.parquet.")
    elif output is None:
        _encode(table, form, sys.stdout.buffer)
    else:
        try:
            with output.open("wb") as file:
                _encode(table, form, file)
        except OSError as error:
            raise EngineError("unwritable-file", f"{output} cannot be written: {error.strerror}",
                              hint="Check the folder and its permissions.") from None
        say(f"{many(table.num_rows, 'row')} written to {output}")


def _encode(table: pa.Table, form: Format, file: BinaryIO | Any, *, header: bool = True) -> None:
    if form is Format.PARQUET:
        import pyarrow.parquet as pq

        pq.write_table(table, file)
    elif form is Format.CSV:
        from pyarrow import csv

        # Written at once: who reads only the header is gone before the rows come.
        text = pa.BufferOutputStream()
        csv.write_csv(for_csv(table, plain), text, csv.WriteOptions(include_header=header))
        file.write(text.getvalue().to_pybytes())
    else:
        import json

        file.write(json.dumps(plain(_objects(table)), indent=2, ensure_ascii=False).encode() + b"\n")
    file.flush()


def _write_more(table: pa.Table, form: Format, *, header: bool) -> None:
    """Write what a reader that follows sees at a look."""
    if form is Format.JSON:
        for row in _objects(table):
            print_json(row, lines=True)
    elif form is Format.CSV:
        _encode(table, form, sys.stdout.buffer, header=header)
    else:
        console().print(rows_table(table))


def _objects(table: pa.Table) -> list[dict[str, Any]]:
    columns = [values(column) for column in table.columns]
    return [dict(zip(table.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]
