"""Texts before anything parses them: how long a text may be, which characters it may have, and positions in it."""

from __future__ import annotations

from bisect import bisect_right

from weft.errors import Position, SqlError

MAX_BYTES = 64 * 1024


def position_at(sql: str, offset: int) -> Position:
    """Line and column of an offset.

    >>> str(position_at("SELECT a\\nFROM b", 14))
    'line 2, column 6'
    """
    starts = [0] + [at + 1 for at, char in enumerate(sql[:offset]) if char == "\n"]
    line = bisect_right(starts, offset)
    return Position(line, offset - starts[line - 1] + 1)


def check_size(sql: str) -> None:
    """Refuse a text that is too long, or that holds characters no SQL text has."""
    if not isinstance(sql, str):
        raise SqlError("syntax-error", f"{str(sql)[:40]!r} is no text", hint="Give the SQL as a text.")
    size = len(sql)
    if size <= MAX_BYTES:
        try:
            size = len(sql.encode())
        except UnicodeEncodeError as error:
            raise SqlError("syntax-error", "the text is not valid Unicode", hint="Remove the lone surrogate.",
                           position=position_at(sql, error.start)) from None
    if size > MAX_BYTES:
        raise SqlError("too-large", f"the text has more than {MAX_BYTES} bytes", hint="Split the query.")
    for at, char in enumerate(sql):
        if char < " " and char not in "\t\n\r":
            raise SqlError("syntax-error", f"the text holds the control character {char!r}", hint="Remove it.",
                           position=position_at(sql, at))
