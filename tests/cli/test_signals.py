"""`weft run` as systemd and people stop it: signals to the whole group while a tick is under way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_run import CONFIG, put
from tests.few import few

# The command, with a tick and an end of the engine that say that they are under way, and wait until they may go on.
SLOW = """
import time
from pathlib import Path
from weft.cli import main
from weft.engine import Engine
from weft.failpoint import watch

def hold(what, until):
    Path(what).touch()
    while not Path(until).exists():
        time.sleep(0.02)

def close(engine, really=Engine.close):
    hold("closing", "end")
    really(engine)

Engine.close = close
watch(lambda name: hold("under-way", "go-on") if name == "merge-after" else None)
main()
"""
START_SECONDS = 120
pytestmark = pytest.mark.spark


class Run:
    """A process of its own group that is in the middle of its first tick."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "weft.toml").write_text(CONFIG)
        put(folder / "in", 0)
        self.output = (folder / "out").open("w+"), (folder / "err").open("w+")
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        self.process = subprocess.Popen(
            [sys.executable, "-c", SLOW, "run", "--plain"], cwd=folder, env=environment, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=self.output[0], stderr=self.output[1])

    def wait_for(self, what: str) -> None:
        end = time.monotonic() + START_SECONDS
        while not (self.folder / what).exists():
            assert self.process.poll() is None and time.monotonic() < end, (self.folder / "err").read_text()
            time.sleep(0.05)

    def end(self) -> tuple[int, str, str]:
        status = self.process.wait(60)
        return status, (self.folder / "out").read_text(), (self.folder / "err").read_text()


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    run = Run(tmp_path)
    try:
        run.wait_for("under-way")
        yield run
    finally:
        if run.process.poll() is None:
            os.killpg(run.process.pid, signal.SIGKILL)
            run.process.wait()
        for file in run.output:
            file.close()


def test_a_group_that_is_told_to_end_finishes_its_tick(run: Run) -> None:
    os.killpg(run.process.pid, signal.SIGTERM)
    # Java would be gone by then.
    time.sleep(2)
    (run.folder / "go-on").touch()
    (run.folder / "end").touch()
    status, out, err = run.end()
    assert (status, "Traceback" in err) == (0, False), err
    assert out.splitlines()[-1] == "packets: stopped after 10 rows in 1 tick, 0 too late for every window"


# Each starts Spark in a process, which takes 24 seconds of a core.
@pytest.mark.parametrize("during", few(("under-way", "closing"), 1))
def test_a_second_interrupt_leaves_at_once_and_without_a_word(run: Run, during: str) -> None:
    os.killpg(run.process.pid, signal.SIGINT)
    if during == "closing":
        (run.folder / "go-on").touch()
        run.wait_for("closing")
    time.sleep(1.2)
    os.killpg(run.process.pid, signal.SIGINT)
    status, out, err = run.end()
    assert (status, err.splitlines()) == (130, ["2 queries; starting Spark"])
    assert out.splitlines()[0] == "stopping after the tick that is under way"
