"""kill -9 between any two statements, or at any time, leaves the old state or the new one; writers never mix."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.few import few
from weft.segments.segment import SegmentRow
from weft.store.catalog import Catalog, Snapshot, sqlite_url
from weft.store.definition import QueryDefinition
from weft.store.records import DeadLetterRow, NodeRow, QueryRow, TickRow

Python = Callable[..., subprocess.Popen[str]]


def segment(path: str) -> SegmentRow:
    return SegmentRow(
        node="n",
        layout="l",
        path=path,
        kind="tick",
        rank=0,
        batch_from=0,
        batch_to=0,
        time_from=0,
        time_to=1,
        rows=1,
        bytes=1,
        checksum="x",
    )


def everything(tx: Snapshot) -> tuple[object, ...]:
    stored = (tx.streams(), tx.queries(), tx.aggregates(), tx.nodes(), tx.layouts(), tx.segments(), tx.garbage())
    return (tx.revision(), *stored, tx.dead_letters(), tx.ticks(), tx.tick_log("s"))


# Kills itself with signal 9 right before its k-th statement, or right before COMMIT, for every so many k, or not at all.
TICK = """
import os, signal, sys
from sqlalchemy import event
from test_catalog_crash import segment
from weft.store.catalog import Catalog
from weft.store.definition import QueryDefinition
from weft.store.records import DeadLetterRow, NodeRow, QueryRow, StreamRow, TickRow

def commit_tick(url, k, step):
    catalog = Catalog(url)
    count = 0
    def passed(commits):
        nonlocal count
        count += 1
        # However large the steps are, they pass over no commit.
        if count == k or commits and k - step < count < k:
            os.kill(os.getpid(), signal.SIGKILL)
    event.listen(catalog._engine, "before_cursor_execute", lambda *_: passed(False))
    event.listen(catalog._engine, "commit", lambda *_: passed(True))
    with catalog.write() as tx:
        tx.put_stream(StreamRow(name="s2", definition={}))
        tx.put_queries([QueryRow(name="new", stream="s", sql="", definition=QueryDefinition())])
        tx.update_queries({"old": {"status": "running"}})
        tx.put_node(NodeRow(id="n2", stream="s", definition={}, created_batch=1))
        old = [row.id for row in tx.segments()]
        tx.add_segments([segment("merged")])
        tx.remove_segments(old)
        tx.delete_dead_letters([row.id for row in tx.dead_letters("s")])
        tx.put_dead_letters([DeadLetterRow(stream="s", batch_id=1, path="d1", rows=1, bytes=1, checksum="x")])
        tx.put_tick(TickRow(stream="s", batch_id=1, checkpoint="c", offsets_digest="d"))

step = int(sys.argv[2])
for k in range(1, 1000, step):
    child = os.fork()
    if child == 0:
        commit_tick(sys.argv[1], k, step)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(k, "killed" if os.WIFSIGNALED(status) else "committed", flush=True)
    if not os.WIFSIGNALED(status):
        break
    sys.stdin.readline()
"""


# On PostgreSQL a kill and a look at all tables take a fifth of a second: every third in `make test`, all in `make stress`.
@pytest.mark.parametrize("step", few((3, 1), 1))
def test_a_kill_between_any_two_statements_leaves_the_old_state(url: str, step: int, python: Python) -> None:
    catalog = Catalog(url)
    with catalog.write() as tx:
        tx.put_queries([QueryRow(name="old", stream="s", sql="", definition=QueryDefinition())])
        tx.put_node(NodeRow(id="n", stream="s", definition={}, created_batch=0))
        tx.add_segments([segment("a"), segment("b")])
        tx.put_dead_letters([DeadLetterRow(stream="s", batch_id=0, path="d0", rows=1, bytes=1, checksum="x")])
        tx.put_tick(TickRow(stream="s", batch_id=0, checkpoint="c", offsets_digest="d"))
        before = everything(tx)
    process = python(TICK, url, str(step))
    assert process.stdin and process.stdout
    deaths = 0
    for line in process.stdout:
        if "committed" in line:
            break
        assert "killed" in line, line + process.stdout.read()
        deaths += 1
        with catalog.read() as tx:
            assert everything(tx) == before
        process.stdin.write("on\n")
        process.stdin.flush()
    assert process.wait(30) == 0
    assert deaths > 20 // step
    with catalog.read() as tx:
        assert [row.path for row in tx.segments()] == ["merged"]
        assert tx.garbage() == ("a", "b", "d0")
        assert [row.path for row in tx.dead_letters()] == ["d1"]
        assert [(row.name, row.status) for row in tx.queries()] == [("new", "registered"), ("old", "running")]
        newest = tx.tick("s")
        assert newest is not None and newest.batch_id == 1
    catalog.close()


# For every line that it is sent, a child that commits ticks as fast as it can and says each one once it is committed.
TICKING = """
import os, sys
from test_catalog_crash import segment
from weft.store.catalog import Catalog
from weft.store.records import TickRow

def commit_ticks(url):
    catalog = Catalog(url)
    with catalog.read() as tx:
        tick = tx.tick("s")
        total = tick.totals["segments"] if tick else 0
        batch = tick.batch_id + 1 if tick else 0
    print("pid", os.getpid(), flush=True)
    while True:
        with catalog.write() as tx:
            tx.add_segments([segment(f"{batch}-{i}") for i in range(3)])
            total += 3
            totals = {"segments": total}
            tx.put_tick(TickRow(stream="s", batch_id=batch, checkpoint="c", offsets_digest="d", totals=totals))
        os.write(1, b"%d\\n" % batch)  # in one piece, which print is not: a kill could come in between
        batch += 1

for _ in sys.stdin:
    child = os.fork()
    if child == 0:
        commit_ticks(sys.argv[1])
    _, status = os.waitpid(child, 0)
    print("ended", os.WTERMSIG(status), flush=True)
"""


@pytest.mark.parametrize("rounds", few((4, 60), 1))
def test_kills_at_random_times_lose_nothing_and_double_nothing(
    url: str, rounds: int, python: Python, tell: Callable[[str], None]
) -> None:
    seed = time.time_ns()
    tell(f"seed {seed}")
    chance = random.Random(seed)
    Catalog(url).close()
    process = python(TICKING, url)
    assert process.stdin and process.stdout
    for _ in range(rounds):
        process.stdin.write("go\n")
        process.stdin.flush()
        word, child = process.stdout.readline().split()
        assert word == "pid"
        said = [process.stdout.readline()]
        threading.Timer(chance.uniform(0, 0.3), os.kill, [int(child), signal.SIGKILL]).start()
        while not said[-1].startswith("ended"):
            said.append(process.stdout.readline())
        assert said.pop() == f"ended {int(signal.SIGKILL)}\n", said
        catalog = Catalog(url)
        with catalog.read() as tx:
            tick = tx.tick("s")
            assert tick is not None
            # A tick may be committed and not said, never the other way round.
            assert tick.batch_id - int(said[-1]) in {0, 1}
            paths = {row.path for row in tx.segments()}
            assert paths == {f"{batch}-{i}" for batch in range(tick.batch_id + 1) for i in range(3)}
            assert tick.totals["segments"] == len(paths)
        catalog.close()


COUNT = """
import sys
from at_once import at_once
from weft.store.catalog import Catalog
from weft.store.records import AggregateRow

def count(number):
    catalog = Catalog(sys.argv[1])
    for _ in range(50):
        with catalog.write() as tx:
            (row,) = tx.aggregates()
            tx.put_aggregate(AggregateRow(name="n", definition={"n": row.definition["n"] + 1}))

sys.exit(at_once(2, count))
"""


def test_threads_and_processes_write_one_after_the_other(url: str, python: Python) -> None:
    from weft.store.records import AggregateRow

    catalog = Catalog(url)
    with catalog.write() as tx:
        tx.put_aggregate(AggregateRow(name="n", definition={"n": 0}))
    failures: list[BaseException] = []
    done = threading.Event()

    def count() -> None:
        try:
            for _ in range(25):
                with catalog.write() as tx:
                    (row,) = tx.aggregates()
                    tx.put_aggregate(AggregateRow(name="n", definition={"n": row.definition["n"] + 1}))
        except BaseException as error:
            failures.append(error)

    def watch() -> None:
        """A reader sees the two agree, and never sees them go back."""
        last = 0
        try:
            while not done.is_set():
                with catalog.read() as tx:
                    (row,) = tx.aggregates()
                    assert row.definition["n"] + 1 == tx.revision() >= last
                    last = tx.revision()
        except BaseException as error:
            failures.append(error)

    process = python(COUNT, url)
    writers = [threading.Thread(target=count) for _ in range(8)]
    readers = [threading.Thread(target=watch) for _ in range(4)]
    for thread in [*writers, *readers]:
        thread.start()
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0, out
    for thread in writers:
        thread.join(120)
    done.set()
    for thread in readers:
        thread.join(30)
    assert not failures
    with catalog.read() as tx:
        (row,) = tx.aggregates()
        assert row.definition == {"n": 8 * 25 + 2 * 50}
        assert tx.revision() == 301
    catalog.close()


def test_many_readers_at_once_do_not_run_out_of_connections(tmp_path: Path) -> None:
    catalog = Catalog(sqlite_url(tmp_path / "catalog.db"))
    together = threading.Barrier(40)
    seen: list[int] = []

    def read() -> None:
        with catalog.read() as tx:
            together.wait(30)
            seen.append(tx.revision())

    threads = [threading.Thread(target=read) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert seen == [0] * 40
    catalog.close()
