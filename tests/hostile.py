"""Hostile texts for places that are no SQL: names, aliases, strings, options; and what Spark's SQL may hold at most."""

from __future__ import annotations

import re

from weft.aggregates.statistics import BASICS
from weft.algebra.functions import ALL, OPERATORS

TEXTS = [
    "x'; DROP TABLE queries; --",
    "x' OR '1' = '1",
    'x" OR 1=1 --',
    "')); SELECT 1; --",
    "x` FROM text.`/etc/passwd",
    "`",
    "``",
    "x``y",
    "text.`/etc/passwd`",
    "a.b.c",
    "*",
    "/* x",
    "x */ y",
    "-- x",
    "1); DROP TABLE s --",
    "java_method('java.lang.System', 'getenv', 'WEFT_CANARY')",
    "reflect('java.lang.Runtime', 'exit', 1)",
    "TRANSFORM (saddr) USING 'cat /etc/passwd' AS (x)",
    "${env:WEFT_CANARY}",
    "${system:user.dir}",
    "${spark.app.name}",
    "$WEFT_CANARY",
    "$(cat /etc/passwd)",
    "`cat /etc/passwd`",
    "{rows}",
    "{}",
    "{0}",
    "{self.__class__}",
    "{{ 7 * 7 }}",
    "%s %(x)s %n",
    ":x ? @y",
    "\\",
    "\\'",
    "\\u0027",
    "\\u0000",
    "x\\",
    "../../../etc/passwd",
    "/etc/passwd",
    "file:///etc/passwd",
    "http://169.254.169.254/latest/meta-data/",
    "..",
    ".",
    "~",
    "<script>alert(1)</script>",
    "[red]x[/red]",
    "=cmd|'/C calc'!A0",
    "__class__",
    "weft_slice",
    "weft_x",
    "window",
    "window_start",
    "start",
    "late",
    "рackets",
    "ＳＥＬＥＣＴ",
    "x\u202ey",
    "x\u2028y",
    "\ufeffx",
    "🧵",
    "",
    " ",
    "\x00",
    "x\x00y",
    "\x1b[2J",
    "a\nb",
    "a\rb",
    "\x7f",
    "\ud800",
    "x" * 200,
    "x" * 5000,
]

# What Weft's own statements are made of, beside the functions of the allow-list and its aggregates.
OWN = frozenset(
    """
    grouping_id array get if struct greatest coalesce cast try_cast timestamp_micros pmod nullif decimal
    in as from by sets except and or not when then else case end select
""".split()
)


def foreign(sql: str) -> set[str]:
    """The calls and signs in a statement of Spark's that Weft would never write; quoted names and strings are no part."""
    bare = re.sub(r"'[^']*'|`(?:[^`]|``)*`", "q", sql)
    allowed = (
        OWN
        | {one.name for one in ALL}
        | OPERATORS
        | {word for basic in BASICS.values() for word in re.findall(r"(\w+)\(", basic.build.lower())}
    )
    called = {name.lower() for name in re.findall(r"([^\W\d]\w*)\s*\(", bare)} - allowed
    return called | set(re.findall(r"--|/\*|;|\$|['\"`\\]|\x00", bare))


def quoted_name(text: str) -> str:
    return "`" + text.replace("`", "``") + "`"


def quoted_string(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
