"""The process of searches: it answers as a search here does, goes on with searches, and is no trouble when it ends."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.plan.prices import PRICES
from tests.plan.test_search import alerts, few_rows
from weft.optimize.search_process import MOST_KEPT, Request, Searches, SearchProcess, Subject
from weft.plan.search import Search

SUBJECT = Subject(alerts(5), few_rows(), PRICES)
REQUEST = Request("first", {}, 5.0, SUBJECT)


@pytest.fixture
def process() -> Iterator[SearchProcess]:
    process = SearchProcess()
    yield process
    process.close()


def test_it_finds_what_a_search_here_finds(process: SearchProcess) -> None:
    search = Search(SUBJECT.queries, SUBJECT.facts, SUBJECT.costs)
    expected = search.run({})
    answer = process.search(REQUEST)
    assert answer is not None and answer.result.finished and expected.tried > 1
    assert answer.result == expected and answer.now == search.price_of({})


def test_it_goes_on_where_it_was_and_keeps_the_last_few(process: SearchProcess) -> None:
    short = replace(REQUEST, seconds=0.0)
    begun, gone_on = process.search(short), process.search(replace(REQUEST, subject=None))
    assert begun is not None and gone_on is not None
    assert not begun.result.finished and gone_on.result.finished and gone_on.result.tried > begun.result.tried
    for number in range(MOST_KEPT):
        process.search(replace(short, search=str(number)))
    assert process.search(replace(REQUEST, subject=None)) is None, "what is not kept any more is said"


def test_a_process_that_was_killed_is_replaced(process: SearchProcess) -> None:
    assert process.search(REQUEST) is not None
    first = process._process
    assert first is not None
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    assert process.search(replace(REQUEST, subject=None)) is None, "its searches are lost"
    assert process.search(REQUEST) is not None and process._process is not first


def test_a_process_that_is_killed_while_it_searches_stops_that_search_only(process: SearchProcess) -> None:
    assert process.search(REQUEST) is not None
    running = process._process
    assert running is not None
    # It takes the request and does not come to an answer.
    running.send_signal(signal.SIGSTOP)
    killing = threading.Timer(0.2, running.kill)
    killing.start()
    with pytest.raises(OSError, match="process of searches ended"):
        process.search(REQUEST)
    killing.join()
    assert process.search(REQUEST) is not None


def test_what_goes_wrong_in_a_search_is_raised_here_and_the_next_search_is_answered(process: SearchProcess) -> None:
    broken = replace(REQUEST, subject=replace(SUBJECT, costs=None))  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="AttributeError"):
        process.search(broken)
    assert process.search(REQUEST) is not None


def test_where_no_process_can_be_started_searches_run_here(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with caplog.at_level(logging.WARNING, logger="weft.plan"):
        process = SearchProcess()
        answers = [process.search(REQUEST), process.search(replace(REQUEST, subject=None))]
    assert all(answer is not None and answer.result.finished for answer in answers)
    assert len(caplog.records) == 1, "which is said once"


def test_where_the_process_ends_before_it_is_ready_searches_run_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    with caplog.at_level(logging.WARNING, logger="weft.plan"):
        process = SearchProcess()
        answer = process.search(REQUEST)
    assert answer is not None and answer.result.finished
    assert "searches run beside ticks in this process" in caplog.text


def test_it_finds_modules_in_the_folder_of_a_program_that_is_not_a_file(tmp_path: Path) -> None:
    """`python -c` and Python's prompt look for modules where they are: the process has to as well."""
    (tmp_path / "only_here.py").write_text("class Places(dict):\n    pass\n")
    program = textwrap.dedent(
        """
        import pickle, sys
        from dataclasses import replace
        import only_here
        from weft.optimize.search_process import process
        request = replace(pickle.loads(bytes.fromhex(sys.argv[1])), now=only_here.Places())
        assert process.search(request).result.finished
        assert process._process is not None, "in a process of its own"
        """
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", program, pickle.dumps(REQUEST).hex()]
    done = subprocess.run(command, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_it_ends_with_the_program_that_started_it() -> None:
    program = textwrap.dedent(
        """
        import os, pickle, sys
        from weft.optimize.search_process import process
        process.search(pickle.loads(bytes.fromhex(sys.argv[1])))
        print(process._process.pid, flush=True)
        os.kill(os.getpid(), 9)
        """
    )
    command = [sys.executable, "-c", program, pickle.dumps(REQUEST).hex()]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE)
    assert done.returncode == -signal.SIGKILL
    number = int(done.stdout)
    for _ in range(500):
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return
        # An orphan that nobody waits for has ended too.
        with open(f"/proc/{number}/stat") as stat:
            if stat.read().rpartition(")")[2].split()[0] == "Z":
                return
        time.sleep(0.01)
    raise AssertionError("it is still there")


def test_searches_that_are_kept_are_few() -> None:
    searches = Searches()
    for number in range(3 * MOST_KEPT):
        searches.answer(replace(REQUEST, search=str(number), seconds=0.0))
    assert len(searches._kept) == MOST_KEPT
