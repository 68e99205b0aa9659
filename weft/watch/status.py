"""How a stream fares, kept in the catalog so that every process can tell: running, at rest or failed, and since when.

A process that is killed says nothing any more: what it said last stays, and the time of the last tick stands beside it.
With it are kept the marks by which another process on the same machine tells whether that process still lives.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

from weft.errors import EngineError, StateError, WeftError
from weft.store.catalog import Catalog

log = logging.getLogger("weft.status")

RUNNING, AT_REST, FAILED, UNKNOWN = "running", "at rest", "failed", "unknown"
MAX_ERROR = 500
# The key of what is said that is for programs alone.
MARKS = "marks"
# What goes wrong where two engines run on the same checkpoint: neither finds what it left there, or what it may commit.
CONTENDED = frozenset({"offsets-differ", "batches-missing", "batch-forgotten", "tick-not-newer", "segments-changed"})
# What Spark says when another Spark has written into its log.
CONCURRENT = "CONCURRENT_STREAM_LOG_UPDATE"


class StreamStatus:
    """Says how a stream fares in this process. Saying it never fails: the stream's own error is what matters."""

    def __init__(self, catalog: Catalog, stream: str) -> None:
        self._catalog, self._stream, self._key = catalog, stream, uuid4().hex
        # Whether the stream runs here, as who runs it says.
        self.is_active: Callable[[], bool] = lambda: False
        # What was said last here, also where it could not be kept.
        self.said: dict[str, Any] = {}
        # Who was said to run the stream when it was started here, where nobody can tell whether that is so.
        self._perhaps: dict[str, Any] | None = None
        _here[self._key] = self

    def say(self, status: str, error: BaseException | None = None) -> None:
        self.said = {
            "status": status,
            "error": None if error is None else one_line(error),
            "since": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "process": process(),
        }
        try:
            with self._catalog.write() as writer:
                writer.put_status(self._stream, {**self.said, MARKS: [*process_marks(), self._key]})
        except Exception:  # a full disk that stopped the stream keeps this from being written, too
            log.warning("status not kept", extra={"stream": self._stream, "status": status}, exc_info=True)

    def check_free(self) -> None:
        """Refuse to start a stream that another engine runs; where nobody can tell, remember who said so."""
        with self._catalog.read() as reader:
            said = reader.status(self._stream)
        alive = self._lives(said)
        self._perhaps = said if alive is None else None
        if alive:
            raise runs_elsewhere(self._stream, said)

    def with_rival(self, error: BaseException) -> BaseException:
        """The error itself; or, where a second engine on the stream explains it, the error that names that engine."""
        code = error.code if isinstance(error, WeftError) else None
        if code not in CONTENDED and CONCURRENT not in str(error):
            return error
        rival = self._perhaps
        try:
            with self._catalog.read() as reader:
                said = reader.status(self._stream)
            if self._lives(said) is not False or self._came_after(said):
                rival = said
        except StateError:
            log.warning("status not read", extra={"stream": self._stream}, exc_info=True)
        return error if rival is None else runs_elsewhere(self._stream, rival, error)

    def _came_after(self, said: dict[str, Any]) -> bool:
        """Whether another engine has said anything of the stream since this engine did, be it that it failed."""
        marks, since = said.get(MARKS), self.said.get("since")
        others = isinstance(marks, list) and self._key not in marks
        return others and since is not None and str(said.get("since")) > since

    def _lives(self, said: dict[str, Any]) -> bool | None:
        """Whether another engine runs the stream, as it said; None where nobody here can tell."""
        if said.get("status") != RUNNING:
            return False
        marks = said.get(MARKS)
        if not isinstance(marks, list) or len(marks) != 4:
            return None
        if marks[-1] == self._key:
            return False
        if marks[:3] == process_marks():
            other = _here.get(marks[-1])
            return other is not None and other.is_active()
        machine, number, began = marks[:3]
        if machine is None or machine != _machine():
            return None
        return began is not None and began == _began(number)


# Who says how a stream fares in this process, by key: of them it is known whether their streams run.
_here: WeakValueDictionary[str, StreamStatus] = WeakValueDictionary()


def runs_elsewhere(stream: str, said: dict[str, Any], error: BaseException | None = None) -> EngineError:
    """Another engine runs a stream, or said so: where, since when, and what came of it here."""
    who = f"process {said.get('process')}, since {said.get('since')}"
    if error is None:
        message = f"stream {stream!r} is run by another engine: {who}"
        return EngineError(
            "runs-elsewhere", message, hint="Leave the stream to that engine, or stop it before you start this one."
        )
    return EngineError(
        "runs-elsewhere",
        f"stream {stream!r} was run by another engine at the same time, as it seems: {who}; here it ended with "
        f"{one_line(error)}",
        hint="Stop one of the two engines and start the other one again: the state is whole, restore nothing. Only "
        "where that process is known to be dead, the error that is named here is one by itself.",
    )


def process() -> str:
    """This process, as somebody on another machine can find it."""
    return f"{os.getpid()} on {socket.gethostname()}"


def process_marks() -> list[Any]:
    """This process, as another process on this machine can find it: numbers are used again, beginnings are not."""
    return [_machine(), os.getpid(), _began(os.getpid())]


def _machine() -> str | None:
    """The machine since it was started, and the part of it in which processes see each other; None where unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return None


def _began(number: int) -> str | None:
    """When the process of this number began, in the machine's own time; None where there is none."""
    try:
        # The name of the program stands in brackets, and may hold brackets itself.
        told = Path(f"/proc/{int(number)}/stat").read_text(errors="replace").rpartition(")")[2].split()
        # A process that is dead stays in the list until its parent has looked.
        return None if told[0] in "ZX" else told[19]
    except (OSError, ValueError, IndexError):
        return None


def one_line(error: BaseException) -> str:
    """The code and the message of an error; not the hint, which is for who started the stream."""
    text = f"[{error.code}] {error.message}" if isinstance(error, WeftError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:MAX_ERROR]


def status_of(said: dict[str, Any]) -> dict[str, Any]:
    """What `engine.metrics()` says of a stream that this process does not run; at rest where nobody ever ran it."""
    told = {name: value for name, value in said.items() if name != MARKS}
    return {"status": AT_REST, "error": None, "since": None, "process": None, **told}
