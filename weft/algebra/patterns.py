"""Patterns in a query: every allowed pattern is valid in Spark and cannot make a row cost more than a little.

Patterns must be constants, so they can be judged: a bad pattern would otherwise fail the tick of every query on the
stream, and a slow pattern would hold it up for hours. Regular expressions have a module of their own
(weft/algebra/regexes.py).
"""

from __future__ import annotations

import re

from weft.algebra.expressions import Expression, Literal
from weft.errors import SqlError

MAX_PATTERN = 1000
MAX_WILDCARDS = 16

# The letters that mean the same in every release since Spark 3, and how often each may be repeated.
DATE_LETTERS = {"y": 6, "M": 4, "d": 2, "H": 2, "h": 2, "m": 2, "s": 2, "S": 9, "a": 1, "E": 4, "D": 3, "Q": 4}
TRUNCATIONS = {"YEAR": "YEAR", "YYYY": "YEAR", "YY": "YEAR", "QUARTER": "QUARTER", "MONTH": "MONTH", "MM": "MONTH",
               "MON": "MONTH", "WEEK": "WEEK", "DAY": "DAY", "DD": "DAY", "HOUR": "HOUR", "MINUTE": "MINUTE",
               "SECOND": "SECOND", "MILLISECOND": "MILLISECOND", "MICROSECOND": "MICROSECOND"}


def bad_pattern(message: str, hint: str = "") -> SqlError:
    """A refusal, to which the binder adds the position."""
    return SqlError("bad-pattern", message, hint=hint)


def constant_text(expression: Expression, what: str) -> str:
    """The text of a constant string, or a refusal."""
    if not isinstance(expression, Literal) or not isinstance(expression.value, str):
        raise bad_pattern(f"{what} must be a constant string", "Write it in quotes.")
    return expression.value


def check_like(pattern: str) -> None:
    """Refuse a LIKE pattern whose escapes Spark would refuse while it runs, or with too many wildcards."""
    if not re.fullmatch(r"(?:[^\\]|\\[\\_%])*+", pattern, re.DOTALL):
        raise bad_pattern("a \\ in a LIKE pattern must stand before _, % or \\", "Write \\\\ for the character itself.")
    if len(pattern) > MAX_PATTERN or pattern.count("%") > MAX_WILDCARDS:
        raise bad_pattern(f"a LIKE pattern has at most {MAX_PATTERN} characters and {MAX_WILDCARDS} %")


def collapsed(pattern: str) -> str:
    r"""A LIKE pattern with a single % for several in a row: Spark would try every way to split a text among them.

    >>> print(collapsed("a%%%b\\%%%"))
    a%b\%%
    """
    return re.sub(r"(\\.)|%+", lambda match: match[1] or "%", pattern, flags=re.DOTALL)


def like_regex(pattern: str) -> str | None:
    r"""A regular expression for a LIKE pattern that Spark would try in very many ways; None where there are few ways.

    The first position where a piece between two % fits is as good as any later position, so the matcher never needs to
    go back.

    >>> like_regex("a%") is like_regex("%a%b") is None
    True
    >>> print(like_regex("a%b_%\\%c%"))
    (?s)\Aa(?>.*?b.)(?>.*?\%c).*\z
    """
    pieces = [""]
    for item in re.findall(r"\\.|%+|.", pattern, re.DOTALL):
        if item[0] == "%":
            pieces.append("")
        else:
            pieces[-1] += "." if item == "_" else _plain(item[-1])
    if len(pieces) < 4:
        return None
    first, *between, last = pieces
    return rf"(?s)\A{first}{''.join(f'(?>.*?{piece})' for piece in between)}.*{last}\z"


def _plain(character: str) -> str:
    """The spelling of a character that stands for itself in Java's regular expressions."""
    return character if character.isalnum() or ord(character) > 127 else f"\\{character}"


def check_replacement(replacement: str, groups: int) -> None:
    """Refuse a replacement that names a group the pattern does not have."""
    # Only 0 to 9 count: Java reads no other digits, and fails on the first row.
    if not re.fullmatch(r"(?:[^\\$]|\\.|\$[0-9])*+", replacement, re.DOTALL):
        raise bad_pattern("in a replacement, $ stands before the number of a group and \\ before a character")
    for number in re.findall(r"\\.|\$([0-9])", replacement, re.DOTALL):
        if number and int(number) > groups:
            raise bad_pattern(f"the replacement names group {number}, the pattern has {groups}")


def check_date_pattern(pattern: str) -> None:
    """Refuse a date pattern with letters that Spark refuses or reads differently from release to release."""
    plain = re.sub(r"'[^']*'", "", pattern)
    if "'" in plain or len(pattern) > 100 or re.search(r"[\[\]{}#]", plain):
        raise bad_pattern("the date pattern is not understood", "Write for example 'yyyy-MM-dd HH:mm:ss'.")
    for run in re.finditer(r"([A-Za-z])\1*", plain):
        if len(run[0]) > DATE_LETTERS.get(run[1], 0):
            raise bad_pattern(f"{run[0]!r} is not supported in a date pattern",
                              "Write for example 'yyyy-MM-dd HH:mm:ss'.")


def truncation(unit: str, *, dates: bool) -> str:
    """The canonical spelling of a unit of date_trunc or trunc."""
    canonical = TRUNCATIONS.get(unit.upper())
    allowed = list(dict.fromkeys(TRUNCATIONS.values()))[:4 if dates else None]
    if canonical not in allowed:
        raise bad_pattern(f"{unit[:40]!r} is no unit to truncate to", f"Use one of {', '.join(allowed)}.")
    return canonical
