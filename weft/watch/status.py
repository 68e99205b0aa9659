"""How a stream fares, kept in the catalog so that every process can tell: running, at rest or failed, and since when.

A process that is killed says nothing any more: what it said last stays, and the time of the last tick stands beside it.
"""

from __future__ import annotations

import logging
import os
import socket
from datetime import UTC, datetime
from typing import Any

from weft.errors import WeftError
from weft.store.catalog import Catalog

log = logging.getLogger("weft.status")

RUNNING, AT_REST, FAILED = "running", "at rest", "failed"
MAX_ERROR = 500


class StreamStatus:
    """Says how one stream fares in this process. Saying it never fails: the stream's own error is what matters."""

    def __init__(self, catalog: Catalog, stream: str) -> None:
        self._catalog, self._stream = catalog, stream

    def say(self, status: str, error: BaseException | None = None) -> None:
        said = {
            "status": status,
            "error": None if error is None else one_line(error),
            "since": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "process": process(),
        }
        try:
            with self._catalog.write() as writer:
                writer.put_status(self._stream, said)
        except Exception:  # a full disk that stopped the stream keeps this from being written, too
            log.warning("status not kept", extra={"stream": self._stream, "status": status}, exc_info=True)


def process() -> str:
    """This process, as somebody on another machine can find it."""
    return f"{os.getpid()} on {socket.gethostname()}"


def one_line(error: BaseException) -> str:
    """The code and the message of an error; not the hint, which is for who started the stream."""
    text = f"[{error.code}] {error.message}" if isinstance(error, WeftError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:MAX_ERROR]


def status_of(said: dict[str, Any]) -> dict[str, Any]:
    """What `engine.metrics()` says of a stream that this process does not run; at rest where nobody ever ran it."""
    return {"status": AT_REST, "error": None, "since": None, "process": None, **said}
