"""Whether something failed for a reason that may pass, and not because of what is in a file or in a query.

Spark's messages quote names of files and what stands in them: a file may be called `x-OutOfMemoryError.parquet`, and
the header of another may be `No space left on device`. So only that is believed which no user can write: the classes of
Java's exceptions, Spark's conditions, the words that the scheduler begins with, and of a failed operation the end of
its message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError

# Exceptions that are not about a file's bytes: it is gone or closed, a network or a memory fails. By the end of a name.
CLASSES = re.compile(
    r"(FileNotFoundException|NoSuchFileException|AccessDeniedException|AccessControlException|ConnectException|"
    r"TimeoutException|UnknownHostException|OutOfMemoryError|FetchFailedException|ExecutorLostFailure|FetchFailed)\Z"
)
CONDITIONS = re.compile(r"FAILED_READ_FILE\.FILE_NOT_EXIST|SPARK_JOB_CANCELLED")
# The operating system's own words, where Java puts them: at the end, after the path that they are about.
SYSTEM = re.compile(
    r"(\A|: |\()(Permission denied|Input/output error|No space left on device|Filesystem closed)\)?\s*\Z"
)
# Only failures of input and output are trusted with such words; failures of formats quote what they read.
OPERATIONS = frozenset({"java.io.IOException", "java.nio.file.FileSystemException", "java.io.UncheckedIOException"})
# How the scheduler begins, and what it says of the last task: the kind of its failure, or the class of an exception.
ABORTED = re.compile(
    r"Job aborted due to stage failure: [^:]*: Lost task \S+ in stage \S+ \(TID \d+\) \([^)]*\): ([\w.$]+)"
)
MEMORY = "OutOfMemoryError"
# Chains of causes are short; a chain that leads back to itself is not followed for ever.
LONGEST = 50


def may_pass(error: Exception) -> bool:
    """Whether the next attempt may succeed with the file as it is."""
    return any(_passes(*cause) for cause in _causes(error))


def is_nobodys_fault(error: Exception) -> bool:
    """Whether a full disk, a lost executor or the like failed a job. Memory may well be the fault of a query."""
    causes = list(_causes(error))
    memory = any(kind.endswith(MEMORY) or MEMORY in said.split("\n")[0] for kind, _, said in causes)
    return not memory and any(_passes(*cause) for cause in causes)


def _passes(kind: str, condition: str, said: str) -> bool:
    """Whether an exception of Java's, of this class and condition, is of a fault that may pass.

    >>> _passes("java.io.IOException", "", "/in/x.parquet: Input/output error")
    True
    >>> _passes("java.lang.RuntimeException", "", "/in/x: Input/output error is not a Parquet file")
    False
    """
    if CLASSES.search(kind) or CONDITIONS.fullmatch(condition):
        return True
    if kind in OPERATIONS and SYSTEM.search(said):
        return True
    aborted = ABORTED.match(said)
    return aborted is not None and CLASSES.search(aborted[1]) is not None


def _causes(error: Exception) -> Iterator[tuple[str, str, str]]:
    """Class, condition and message of an error on Java's side, and of its causes; nothing for an error of Python's."""
    cause: Any = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
    for _ in range(LONGEST):
        if cause is None:
            return
        yield str(cause.getClass().getName()), _condition(cause), str(cause.getMessage() or "")
        cause = cause.getCause()


def _condition(cause: Any) -> str:
    """The name that Spark has for what happened; nothing for exceptions of others."""
    try:
        return str(cause.getCondition() or "")
    except Py4JError:
        return ""
