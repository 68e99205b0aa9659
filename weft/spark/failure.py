"""What Spark says when an expression fails on a row, cut down to what a person needs.

Keeps: a reason is a short line of printable characters, whatever rows and names are in it: it is stored in the
catalog, logged and shown. PostgreSQL takes no NUL, no terminal a control character, and a value may have any length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from py4j.protocol import Py4JError

# What calls of Spark raise when its Java is no longer there.
JAVA_GONE = (Py4JError, OSError)
# A condition and what it says, over as many lines as the values in it have: Spark ends it by its SQLSTATE.
CONDITION = re.compile(r"\[[A-Z][A-Z0-9_.]+\] .*?(?=\s*SQLSTATE: |\n\s+at |\Z)", re.DOTALL)
# What Spark puts around the condition of a tick when it passes it on.
WRAPPING = re.compile(r"\[(FOREACH_BATCH|STREAM_FAILED)\w*\] ")
# What py4j puts before the words of the Java side.
CALLING = re.compile(r"^An error occurred while calling [^\n]*\n: ")
# Sentences about what to write or to set instead: none says what happened, and many are of no use here.
ADVICE = re.compile(
    r" (If necessary|Use [`']?\w+[`']? to |To return NULL|You may want|Correct the value as).*", re.DOTALL
)

# How the reason begins where a batch has more groups than fit (weft/spark/room.py), and what Spark says at its bound.
CROWDED = "too many groups in one batch for the driver"
CROWDED_SAID = re.compile(CROWDED + r"[^\n]*?(?=\s*SQLSTATE: |\n|\Z)")
SPARKS_BOUND = re.compile(r"Total size of serialized results of \d+ tasks \(([^)]+)\) is bigger than (\S+) \(([^)]+)\)")

# Characters that are read of a message, of its beginning and of its end: Spark may quote a value of any length.
SAID_READ = 100_000
# In characters: a reason, a reason with a row, and a value of that row.
REASON_KEPT, WHOLE_KEPT, VALUE_KEPT = 300, 440, 60
# The innermost cause in a trace of the Java side, with all lines of what it says.
CAUSE = re.compile(r"^Caused by: [\w.$]+: ((?:(?!\n\s+at |\nCaused by: |\n\s+\.\.\. ).)+)", re.MULTILINE | re.DOTALL)
# The condition under which Spark says that a file failed, and not why.
UNSAID = "FAILED_READ_FILE.NO_HINT"


def lost_with_executor(error: BaseException) -> bool:
    """Whether rows that Spark held for us went away with an executor: reading them again brings them back."""
    return "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND" in str(error)


def reason_of(error: BaseException) -> str:
    """The error condition and its sentence, which may name the value; the first line of anything else.

    >>> reason_of(ValueError("Job aborted\\n[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to .. SQLSTATE: 22012"))
    '[DIVIDE_BY_ZERO] Division by zero.'
    """
    said = WRAPPING.sub("", shortened(str(error), 2 * SAID_READ))
    if crowded := _crowded(said):
        return crowded
    conditions = CONDITION.findall(said)
    if conditions:
        reason = ADVICE.sub("", conditions[-1]).strip()
        if UNSAID in reason and (cause := _cause(said)):
            reason = f"[{UNSAID}] {cause}"
        return shortened(printable(reason), REASON_KEPT)
    return shortened(printable(CALLING.sub("", said).split("\n")[0]), REASON_KEPT)


def _crowded(said: str) -> str:
    """The reason of a batch with too many groups, whoever noticed; empty for any other message.

    >>> _crowded("Total size of serialized results of 2 tasks (9 KiB) is bigger than spark.driver.maxResultSize (8 B)")
    'too many groups in one batch for the driver: partial rows of 9 KiB or more; see spark.driver.maxResultSize (8 B)'
    """
    if over_bound := SPARKS_BOUND.search(said):
        size, setting, bound = over_bound.groups()
        return f"{CROWDED}: partial rows of {size} or more; see {setting} ({bound})"
    return reason[0] if (reason := CROWDED_SAID.search(said)) else ""


def has_condition(reason: str) -> bool:
    """Whether Spark named a condition, as it does wherever an expression fails on a row."""
    return reason.startswith("[")


def on_row(reason: str, values: Mapping[str, str | None]) -> str:
    """The reason with the row that failed, as far as there is room.

    >>> on_row("[DIVIDE_BY_ZERO] Division by zero.", {"d": "0", "v": None})
    '[DIVIDE_BY_ZERO] Division by zero, on a row with d = 0, v = NULL'
    """
    said, between = reason.removesuffix("."), ", on a row with "
    for name, value in values.items():
        shown = "NULL" if value is None else printable(value)
        column = f"{shortened(printable(name), VALUE_KEPT)} = {shortened(shown, VALUE_KEPT)}"
        if len(said) + len(between) + len(column) > WHOLE_KEPT:
            return f"{said}, ..."
        said, between = f"{said}{between}{column}", ", "
    return said if values else reason


def printable(text: str) -> str:
    r"""The text with an escape for every character that cannot be seen or stored: control characters, half a pair.

    >>> print(printable("caf\u00e9\x00\n\ud800"))
    café\x00\n\ud800
    """
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def shortened(text: str, most: int) -> str:
    """The text without its middle where it is too long.

    >>> shortened("The value 'aaaaaaaaaaaa' is none.", 28)
    "The value 'aa...a' is none."
    """
    half = (most - 3) // 2
    return text if len(text) <= most else f"{text[:half + 1]}...{text[len(text) - half:]}"


def _cause(said: str) -> str:
    """What the innermost cause says, on a single line; nothing where Spark names no cause."""
    causes = CAUSE.findall(said)
    return " ".join(causes[-1].split()) if causes else ""
