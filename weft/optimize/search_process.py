"""Searches in a process of their own, at a low priority: no tick waits for a search.

Python runs the threads of a process one at a time. Beside a search in another thread each call of a tick to Spark,
DuckDB or a file waits its turn before it goes on: commits took five times as long, whole ticks three times.

The process is started with the first search, serves all engines of the program that started it, and ends with that
program. Where none can be started, or it ends before it is ready, searches run in the program itself.
"""

from __future__ import annotations

import atexit
import logging
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO

from weft.plan.facts import Facts
from weft.plan.placement import Placement
from weft.plan.prices import Costs
from weft.plan.search import Budget, Search, SearchResult
from weft.plan.shapes import Choice

log = logging.getLogger("weft.plan")

# So many searches are kept, to be gone on with.
MOST_KEPT = 8
# How much the process gives way to others: to a tenth of the time of a core that something else wants too.
NICENESS = 10
LENGTH_BYTES = 8


@dataclass(frozen=True)
class Subject:
    """What a search is about."""

    queries: Mapping[str, Choice]
    facts: Facts
    costs: Costs


@dataclass(frozen=True)
class Request:
    """Search for so many seconds of computing from where queries are now; without a subject, go on with a search."""

    search: str
    now: Mapping[str, Placement]
    seconds: float
    subject: Subject | None = None


@dataclass(frozen=True)
class Answer:
    """What a search came to, and the price of the placements that it began from."""

    result: SearchResult
    now: float


class Searches:
    """Searches by name, of which the last few are kept."""

    def __init__(self) -> None:
        self._kept: dict[str, Search] = {}

    def answer(self, request: Request) -> Answer | None:
        """Search, or go on with a search; None where there is nothing to go on with."""
        search = self._kept.pop(request.search, None)
        if request.subject is not None:
            search = Search(request.subject.queries, request.subject.facts, request.subject.costs)
        if search is None:
            return None
        self._kept[request.search] = search
        for name in list(self._kept)[:-MOST_KEPT]:
            del self._kept[name]
        result = search.run(request.now, Budget(time.process_time, request.seconds))
        return Answer(result, search.price_of(request.now))


class SearchProcess:
    """The process in which searches run, as the program sees it; searches of all threads take turns."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._here: Searches | None = None

    def search(self, request: Request) -> Answer | None:
        """What the process answers; None where it has nothing to go on with. Raises what the search raises."""
        with self._turn:
            if self._process is not None and self._process.poll() is not None:
                self._end()
            if self._process is None and self._here is None:
                self._start()
            if self._here is not None:
                return self._here.answer(request)
            try:
                return self._ask(request)
            except OSError:
                self._end()
                if request.subject is None:
                    return None
                raise

    def close(self) -> None:
        """End the process, if it has nothing to do: it ends by itself when nobody can ask it any more."""
        if self._turn.acquire(blocking=False):
            try:
                self._end()
            finally:
                self._turn.release()

    def _start(self) -> None:
        try:
            self._process = _started()
            assert self._process.stdout is not None
            # It says so when it is ready: it may not find the modules of this program.
            _read(self._process.stdout)
        except OSError as error:
            self._end()
            log.warning("searches run beside ticks in this process", extra={"error": str(error)})
            self._here = Searches()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _ask(self, request: Request) -> Answer | None:
        assert self._process is not None and self._process.stdin is not None and self._process.stdout is not None
        _write(self._process.stdin, pickle.dumps(request))
        answer = pickle.loads(_read(self._process.stdout))
        if isinstance(answer, Exception):
            raise answer
        assert answer is None or isinstance(answer, Answer)
        return answer


def _started() -> subprocess.Popen[bytes]:
    """A new process that finds the same modules as this one, and that no key in a terminal interrupts."""
    if not sys.executable:
        raise OSError("this program does not say which Python runs it")
    # The empty entry is the folder that the program runs in, as for `python -c` and at Python's own prompt.
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    return subprocess.Popen(
        [sys.executable, "-P", "-c", f"from {__name__} import main; main()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,
    )


def _write(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(len(message).to_bytes(LENGTH_BYTES, "big"))
    pipe.write(message)
    pipe.flush()


def _read(pipe: IO[bytes]) -> bytes:
    """The next message; raises OSError where the other end is gone."""
    length = int.from_bytes(_exactly(pipe, LENGTH_BYTES), "big")
    return _exactly(pipe, length)


def _exactly(pipe: IO[bytes], length: int) -> bytes:
    found = pipe.read(length)
    if len(found) < length:
        raise ConnectionResetError("the process of searches ended")
    return found


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until there are no more."""
    searches = Searches()
    _write(answers, b"ready")
    while True:
        try:
            request = pickle.loads(_read(requests))
        except ConnectionResetError:
            return
        answer: Answer | Exception | None
        try:
            answer = searches.answer(request)
        except Exception as error:
            answer = RuntimeError(f"{type(error).__name__}: {error}")
        try:
            _write(answers, pickle.dumps(answer))
        except BrokenPipeError:
            return


def main() -> None:
    """The process itself: searches for whoever started it."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    # What anything prints must not come between answers.
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    serve(sys.stdin.buffer, answers)
    # Nobody reads any more what is left to be written.
    os._exit(0)


process = SearchProcess()
atexit.register(process.close)
