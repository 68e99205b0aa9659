"""Windows that are written beside a stream: `FROM packets [RANGE 10 MINUTES SLIDE 2 MINUTES]`, `BEGIN (..) END (..)`.

The parser of SQL knows neither. Both are taken out of the tokens before it sees them, and read here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlglot.tokens import Token, TokenType

from weft.algebra.windows import Asked, Side, Sliding, Window, micros
from weft.errors import SqlError
from weft.sql.ddl import parse_duration
from weft.sql.texts import position_at
from weft.sql.window_call import check_sliding

BRACKET_HINT = "Write for example [RANGE 10 MINUTES SLIDE 2 MINUTES], or [UNBOUNDED]."
BEGIN_HINT = "Write for example BEGIN (NOW - INTERVAL 10 SECONDS) END (NOW)."
NOW = re.compile(r"(?:now|current_timestamp)(?:\s*\(\s*\))?\s*(?:-\s*(?:interval\s+)?(.+))?", re.I | re.S)
RANGE = re.compile(r"range\s+(.+?)(?:\s+slide\s+(.+))?", re.I | re.S)
MOMENT = re.compile(r"(?:timestamp\s*)?'([^']{1,40})'", re.I)
# What stands between a stream and its window.
ALIAS = frozenset({TokenType.ALIAS, TokenType.VAR, TokenType.IDENTIFIER})
# What names rows by their number, or leaves the slide to Weft: known spellings, refused by name.
REFUSED = {"ROWS": "a window of so many rows (ROWS)", "WINDOW": "a window whose slide is an upper bound ([WINDOW ..])"}


@dataclass(frozen=True)
class WindowClause:
    """A window that is written beside the stream, and where that stands in the text."""

    window: Window
    offset: int


def take_window(sql: str, tokens: Sequence[Token]) -> tuple[list[Token], WindowClause | None]:
    """The tokens without the clauses of a window, and the window that they say."""
    rest, clauses = list(tokens), list[WindowClause]()
    for take in (_take_brackets, _take_begin):
        rest, clause = take(sql, rest)
        clauses += [] if clause is None else [clause]
    if len(clauses) > 1:
        raise _bad(sql, clauses[1].offset, "a query has a single window", "Leave one of the two out.")
    return rest, clauses[0] if clauses else None


def _take_brackets(sql: str, tokens: list[Token]) -> tuple[list[Token], WindowClause | None]:
    """Take [..] behind the first name after FROM, or behind its alias."""
    begin = next((at + 2 for at, token in enumerate(tokens) if token.token_type is TokenType.FROM), len(tokens))
    while begin < len(tokens) and tokens[begin].token_type in ALIAS:
        begin += 1
    if begin >= len(tokens) or not _is(tokens[begin], TokenType.L_BRACKET):
        return tokens, None
    end = next((at for at in range(begin, len(tokens)) if _is(tokens[at], TokenType.R_BRACKET)), None)
    if end is None:
        raise _bad(sql, tokens[begin].start, "the window's bracket is not closed", BRACKET_HINT)
    text = sql[tokens[begin].end + 1 : tokens[end].start].strip()
    window = _in_brackets(sql, tokens[begin].start, text)
    return tokens[:begin] + tokens[end + 1 :], WindowClause(window, tokens[begin].start)


def _in_brackets(sql: str, offset: int, text: str) -> Window:
    word = text.partition(" ")[0].upper()
    if word in REFUSED:
        raise SqlError("unsupported-clause", f"{REFUSED[word]} is not supported", hint=BRACKET_HINT,
                       position=position_at(sql, offset))
    if text.upper() == "UNBOUNDED":
        return Asked()
    match = RANGE.fullmatch(text)
    if match is None:
        raise _bad(sql, offset, f"[{text[:60]}] is no window", BRACKET_HINT)
    try:
        span = parse_duration(match[1])
        slide = span if match[2] is None else parse_duration(match[2])
        check_sliding(span, slide)
    except SqlError as error:
        error.position = position_at(sql, offset)
        raise
    return Sliding(range=span, slide=slide)


def _take_begin(sql: str, tokens: list[Token]) -> tuple[list[Token], WindowClause | None]:
    """Take BEGIN (..) END (..), outside of all parentheses, behind FROM."""
    depth, seen_from = 0, False
    for at, token in enumerate(tokens[:-1]):
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        seen_from = seen_from or (depth == 0 and token.token_type is TokenType.FROM)
        if depth == 0 and seen_from and token.text.upper() == "BEGIN" and _is(tokens[at + 1], TokenType.L_PAREN):
            first, middle = _in_parentheses(sql, tokens, at + 1)
            if middle >= len(tokens) or tokens[middle].text.upper() != "END" or not _opens(tokens, middle + 1):
                raise _bad(sql, token.start, "BEGIN (..) has no END (..)", BEGIN_HINT)
            last, rest = _in_parentheses(sql, tokens, middle + 1)
            begin, end = (_side(sql, token.start, text) for text in (first, last))
            if begin.at is not None and end.at is not None and begin.at > end.at:
                raise _bad(sql, token.start, "the window ends before it begins", BEGIN_HINT)
            if begin.at is None and end.at is None and begin.before < end.before:
                raise _bad(sql, token.start, "the window ends before it begins", BEGIN_HINT)
            return tokens[:at] + tokens[rest:], WindowClause(Asked(begin=begin, end=end), token.start)
    return tokens, None


def _in_parentheses(sql: str, tokens: Sequence[Token], at: int) -> tuple[str, int]:
    """The text between a parenthesis and the parenthesis that closes it, and the place behind that."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += _is(tokens[place], TokenType.L_PAREN) - _is(tokens[place], TokenType.R_PAREN)
        if not depth:
            return sql[tokens[at].end + 1 : tokens[place].start].strip(), place + 1
    raise _bad(sql, tokens[at].start, "a parenthesis is not closed", BEGIN_HINT)


def _side(sql: str, offset: int, text: str) -> Side:
    now, constant = NOW.fullmatch(text), MOMENT.fullmatch(text)
    try:
        if now is not None:
            before = timedelta(0) if now[1] is None else parse_duration(now[1].replace("'", " "))
            if before < timedelta(0):
                raise SqlError("bad-window", "a window cannot end in the future")
            return Side(before=before)
        if constant is not None:
            return Side(at=_moment(constant[1]))
    except (SqlError, ValueError) as error:
        raise _bad(sql, offset, str(getattr(error, "message", error)), BEGIN_HINT) from None
    raise _bad(sql, offset, f"({text[:60]}) is no moment", BEGIN_HINT)


def _moment(text: str) -> int:
    moment = datetime.fromisoformat(text)
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return micros(moment - datetime(1970, 1, 1, tzinfo=UTC))


def _is(token: Token, kind: TokenType) -> bool:
    return token.token_type is kind


def _opens(tokens: Sequence[Token], at: int) -> bool:
    return at < len(tokens) and _is(tokens[at], TokenType.L_PAREN)


def _bad(sql: str, offset: int, message: str, hint: str) -> SqlError:
    return SqlError("bad-window", message, hint=hint, position=position_at(sql, offset))
