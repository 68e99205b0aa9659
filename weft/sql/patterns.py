"""A pattern in a query is valid in Spark and cannot make a row cost more than a little.

Patterns must be constants, so they can be judged here: a bad one would otherwise fail the tick of every query on the
stream, and (a+)+ on a long string would hold it up for hours. The rules are stricter than Java's: what passes is a
pattern that Python and Java read alike.
"""

from __future__ import annotations

import re

from weft.errors import SqlError
from weft.sql.expressions import Call, Expression, Literal, children
from weft.sql.types import STRING

MAX_PATTERN = 1000
MAX_REPEATS = 10
MAX_GROUPS = 20
MAX_WILDCARDS = 16
MAX_GROWTH = 10_000

# Escapes, classes, flags, groups, alternatives, repetitions, and everything else a character at a time.
ITEM = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[imsx]+\)|\(\?(?::|=|!|<=|<!)|\(|\)|\|"
                  r"|[*+?][+?]?|\{\d{1,4}(?:,\d{0,4})?\}[+?]?|.", re.DOTALL)
SAFE_ESCAPE = re.compile(r"\\[dDwWsSbBntrfA.^$*+?()\[\]{}|\\/\-_ ,:;=<>!@#%&~\"'`]")
# The letters that mean the same in every release since Spark 3, and how often each may be repeated.
DATE_LETTERS = {"y": 6, "M": 4, "d": 2, "H": 2, "h": 2, "m": 2, "s": 2, "S": 9, "a": 1, "E": 4, "D": 3, "Q": 4}
TRUNCATIONS = {"YEAR": "YEAR", "YYYY": "YEAR", "YY": "YEAR", "QUARTER": "QUARTER", "MONTH": "MONTH", "MM": "MONTH",
               "MON": "MONTH", "WEEK": "WEEK", "DAY": "DAY", "DD": "DAY", "HOUR": "HOUR", "MINUTE": "MINUTE",
               "SECOND": "SECOND", "MILLISECOND": "MILLISECOND", "MICROSECOND": "MICROSECOND"}


def bad_pattern(message: str, hint: str = "") -> SqlError:
    """A refusal that the binder gives a place."""
    return SqlError("bad-pattern", message, hint=hint)


def constant_text(expression: Expression, what: str) -> str:
    """The text of a constant string, or a refusal."""
    if not isinstance(expression, Literal) or not isinstance(expression.value, str):
        raise bad_pattern(f"{what} must be a constant string", "Write it in quotes.")
    return expression.value


def check_regex(pattern: str) -> int:
    """Refuse a regular expression that is invalid or may run away; answers how many groups it has."""
    if len(pattern) > MAX_PATTERN:
        raise bad_pattern(f"the pattern has more than {MAX_PATTERN} characters")
    # One flag a group: whether something inside repeats without end, or alternates. Either, repeated again, is what
    # makes a matcher try exponentially many ways.
    loose = [False]
    repeats, groups, closed, closed_loose = 0, 0, False, False
    for item in ITEM.findall(pattern):
        endless = item[0] in "*+" or (item[0] == "{" and "," in item and item.rstrip("}+?").endswith(","))
        if endless:
            repeats += 1
            if closed and closed_loose:
                raise bad_pattern("a repeated group holds a repetition or an alternative, which can take forever",
                                  "Repeat a single character or class, as in [a-z]+.")
            loose[-1] = True
        if item == "|":
            loose[-1] = True
        closed = item == ")"
        if item.startswith("(") and not item.endswith(")"):
            groups += item == "("
            loose.append(False)
            if len(loose) > MAX_GROUPS:
                raise bad_pattern(f"the pattern nests more than {MAX_GROUPS} groups")
        elif closed:
            if len(loose) == 1:
                raise bad_pattern("the pattern closes a group that it did not open")
            closed_loose = loose.pop()
            loose[-1] = loose[-1] or closed_loose
        _check_item(item)
    if repeats > MAX_REPEATS:
        raise bad_pattern(f"the pattern repeats without end more than {MAX_REPEATS} times")
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise bad_pattern(f"the pattern is not valid: {error}") from None
    return groups


def _check_item(item: str) -> None:
    if item.startswith("\\") and not SAFE_ESCAPE.fullmatch(item):
        raise bad_pattern(f"the escape {item} is not supported", "Use [a-z], \\d, \\w, \\s or the character itself.")
    if item == "{":
        raise bad_pattern("a { that starts no repetition must be written \\{")
    if item.startswith("["):
        inside = item[1:-1]
        if not item.endswith("]") or len(item) < 3 or inside == "^":
            raise bad_pattern("a character class is not closed")
        # Java reads [a[b]] and [a&&b] as sets of sets, Python does not.
        if re.search(r"(?<!\\)\[|&&|--|~~|\|\||\\(?![dDwWsSntrf.^$*+?()\[\]{}|\\/\-])", inside):
            raise bad_pattern("a character class holds [, && or an escape that is not supported", "Escape [ as \\[.")


def check_like(pattern: str) -> None:
    """Refuse a LIKE pattern whose escapes Spark would refuse while it runs, or with too many wildcards."""
    if not re.fullmatch(r"(?:[^\\]|\\[\\_%])*", pattern, re.DOTALL):
        raise bad_pattern("a \\ in a LIKE pattern must stand before _, % or \\", "Write \\\\ for the character itself.")
    if len(pattern) > MAX_PATTERN or pattern.count("%") > MAX_WILDCARDS:
        raise bad_pattern(f"a LIKE pattern has at most {MAX_PATTERN} characters and {MAX_WILDCARDS} %")


def check_replacement(replacement: str, groups: int) -> None:
    """Refuse a replacement that names a group the pattern does not have."""
    if not re.fullmatch(r"(?:[^\\$]|\\.|\$\d)*", replacement, re.DOTALL):
        raise bad_pattern("in a replacement, $ stands before the number of a group and \\ before a character")
    for found in re.findall(r"(?:[^\\$]|\\.)*\$(\d)", replacement, re.DOTALL):
        if int(found) > groups:
            raise bad_pattern(f"the replacement names group {found}, the pattern has {groups}")


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
    """The one spelling of a unit of date_trunc or trunc."""
    found = TRUNCATIONS.get(unit.upper())
    allowed = list(dict.fromkeys(TRUNCATIONS.values()))[:4 if dates else None]
    if found not in allowed:
        raise bad_pattern(f"{unit[:40]!r} is no unit to truncate to", f"Use one of {', '.join(allowed)}.")
    return found


def check_growth(expression: Expression) -> None:
    """Refuse an expression whose string may be thousands of times longer than what it reads."""
    if _growth(expression) > MAX_GROWTH:
        raise SqlError("too-large", "the string may grow without bound", hint="Repeat, pad and replace less.")


def _growth(expression: Expression) -> int:
    """An upper bound on how many times longer a result is than the longest string read; numbers count as one."""
    if expression.type != STRING:
        return 1
    if not isinstance(expression, Call):
        return max(map(_growth, children(expression)), default=1)
    parts = [_growth(part) for part in expression.arguments]
    sizes = [len(part.value) if isinstance(part, Literal) and isinstance(part.value, str) else 0
             for part in expression.arguments]
    match expression.function:
        case "concat" | "concat_ws":
            return sum(parts) + sum(sizes) // 100
        case "repeat" | "lpad" | "rpad":
            count = expression.arguments[1]
            factor = count.value if isinstance(count, Literal) and isinstance(count.value, int) else 1
            return parts[0] * max(factor, 1) if expression.function == "repeat" else parts[0] + factor
        case "replace" | "regexp_replace":
            return parts[0] * max(sizes[2], parts[2], 1)
        case _:
            return max(parts, default=1)
