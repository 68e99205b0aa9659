"""What Spark says when an expression fails on a row, cut down to what a person needs."""

from __future__ import annotations

import re

from py4j.protocol import Py4JError

# What calls of Spark raise when its Java is no longer there.
JAVA_GONE = (Py4JError, OSError)
CONDITION = re.compile(r"\[[A-Z][A-Z_.]+\] [^\n]*")
# What py4j puts before the words of the Java side.
CALLING = re.compile(r"^An error occurred while calling [^\n]*\n: ")
# The innermost cause in a trace of the Java side, with all lines of what it says.
CAUSE = re.compile(r"^Caused by: [\w.$]+: ((?:(?!\n\s+at |\nCaused by: |\n\s+\.\.\. ).)+)", re.MULTILINE | re.DOTALL)
# The condition under which Spark says that a file failed, and not why.
UNSAID = "FAILED_READ_FILE.NO_HINT"
LONGEST = 300
ADVICE = re.compile(r" (If necessary|Use `try_|To return NULL|You may want)[^\n]*|\s*SQLSTATE: \w+")


def lost_with_executor(error: BaseException) -> bool:
    """Whether rows that Spark held for us went away with an executor: reading them again brings them back."""
    return "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND" in str(error)


def reason_of(error: BaseException) -> str:
    """The error condition and its sentence, which names the value; the first line of anything else.

    >>> reason_of(ValueError("Job aborted\\n[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` .. SQLSTATE: 22012"))
    '[DIVIDE_BY_ZERO] Division by zero.'
    """
    found = [one for one in CONDITION.findall(str(error)) if "FOREACH_BATCH" not in one and "STREAM_FAILED" not in one]
    if found:
        reason = ADVICE.sub("", found[-1]).strip()
        return f"{reason} {_cause(error)}".strip() if UNSAID in reason else reason
    return CALLING.sub("", str(error)).split("\n")[0][:LONGEST]


def _cause(error: BaseException) -> str:
    """What the innermost cause says, on one line; nothing where Spark names none."""
    causes = CAUSE.findall(str(error))
    return " ".join(causes[-1].split())[:LONGEST] if causes else ""
