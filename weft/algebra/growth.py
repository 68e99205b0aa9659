"""How long a string can become: each function that lengthens strings has a bound, and bounds multiply where they nest.

Lengths are in characters. A string that is read from a row counts as a hundred, whatever it is: the bound says how many
times longer than that a result may be. A constant counts by its own length.
"""

from __future__ import annotations

import re

from weft.algebra.expressions import Call, Expression, Literal, children, walk
from weft.algebra.patterns import bad_pattern
from weft.algebra.regexes import ITEM
from weft.algebra.types import STRING
from weft.errors import SqlError

READ_LENGTH = 100
MAX_LENGTH = 10_000 * READ_LENGTH
# The longest date or hash: a date pattern has a hundred letters, none of which, alternating, gives over seven digits.
FORMATTED_LENGTH = 800


def check_growth(expression: Expression) -> None:
    """Refuse an expression whose string may be thousands of times longer than what it reads."""
    if _length(expression) > MAX_LENGTH:
        raise SqlError("too-large", "the string may grow without bound", hint="Repeat, pad and replace less.")


def check_growth_within(expression: Expression) -> None:
    """Refuse an expression if any string within it may grow so: with arguments put for columns, each may be longer."""
    for node in walk(expression):
        check_growth(node)


def _length(expression: Expression) -> int:
    """An upper bound on the length of a string; stored with the node, since every node above asks for it again."""
    if expression.type != STRING:
        return READ_LENGTH
    length: int | None = expression.__dict__.get("_length")
    if length is None:
        length = _call_length(expression) if isinstance(expression, Call) else _other_length(expression)
        object.__setattr__(expression, "_length", length)
    return length


def _other_length(expression: Expression) -> int:
    if isinstance(expression, Literal):
        return len(expression.value) if isinstance(expression.value, str) else 0
    return max(map(_length, children(expression)), default=READ_LENGTH)


def _call_length(call: Call) -> int:
    parts = [_length(part) for part in call.arguments]
    match call.function:
        case "concat":
            return sum(parts)
        case "concat_ws":
            return sum(parts[1:]) + parts[0] * (len(parts) - 2)
        case "repeat":
            return parts[0] * _count(call)
        case "lpad" | "rpad":
            return _count(call)
        case "replace":
            return parts[0] * max(parts[2], 1)
        case "regexp_replace":
            # A pattern may match nothing at all, and so before every character and at the end. What $1 stands
            # for adds up to no more than the whole string, which its two characters count for.
            return parts[0] + (parts[0] + 1) * parts[2]
        case "date_format" | "md5" | "sha1" | "sha2":
            return FORMATTED_LENGTH
        case _:
            return max(parts, default=READ_LENGTH)


def _count(call: Call) -> int:
    """How often repeat repeats, or how long lpad and rpad make a string: a constant, as the rule of the call checks."""
    count = call.arguments[1]
    return count.value if isinstance(count, Literal) and isinstance(count.value, int) else READ_LENGTH


def check_copies(pattern: str, replacement: str) -> None:
    """Refuse a replacement that copies a group within a lookaround: such matches overlap, and each may be the whole."""
    looked_at, groups = _looked_at(pattern)
    for number in re.findall(r"\\.|\$([0-9]+)", replacement, re.DOTALL):
        digits = number
        # Java takes as many digits as there is a group for.
        while len(digits) > 1 and int(digits) > groups:
            digits = digits[:-1]
        if digits and int(digits) in looked_at:
            raise bad_pattern(f"the replacement names group {int(digits)}, which the pattern only looks at",
                              "Take what is to be copied out of (?=...), (?<=...) and the like.")


def _looked_at(pattern: str) -> tuple[set[int], int]:
    """The numbers of the groups inside lookarounds, and the number of all groups."""
    looked_at: set[int] = set()
    open_: list[bool] = []
    groups = 0
    for item in ITEM.findall(pattern):
        if item == ")":
            open_.pop()
        elif item == "(":
            groups += 1
            if any(open_):
                looked_at.add(groups)
            open_.append(False)
        elif item.startswith("(?") and not item.endswith(")"):
            open_.append(item != "(?:")
    return looked_at, groups
