"""The program that is killed: lives what is left of a folder's life, and prints the answers as JSON.

    python -m tests.crash.worker FOLDER [--script short|small|large] [--plain] [--setting NAME=VALUE ...]

It notes when each of its ticks is committed in FOLDER/commits; FOLDER/catalog may hold the URL of its catalog. With `--nursery` it reads lines `FOLDER POINT:K` and
lives each in a child of its own, which has everything imported already; it prints the status that the child ended with.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

import weft
from tests.crash.life import SCRIPTS, Life, no_lease
from tests.java import BRIEF
from weft import failpoint

STREAM_FAILED = 3
SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": BRIEF,
    "spark.executor.extraJavaOptions": BRIEF,
}


def live(folder: Path, script: str, *, plain: bool, settings: dict[str, str] | None = None) -> int:
    """One process of a life; the report goes to FOLDER/report. The status to end with."""
    passed: Counter[str] = Counter()
    notes = os.open(folder / "commits", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(point: str) -> None:
        passed[point] += 1
        if point in ("spark-before", "commit-after"):
            os.write(notes, f"{os.getpid()} {point} {time.time():.3f}\n".encode())

    failpoint.watch(note)
    catalog = (folder / "catalog").read_text() if (folder / "catalog").exists() else None
    with no_lease(), weft.Engine(folder / "state", catalog=catalog, spark_settings=settings) as engine:
        life = Life(folder, SCRIPTS[script], engine)
        try:
            life.live(plain=plain)
        except weft.EngineError as error:
            if error.code != "stream-failed":
                raise
            print(error, file=sys.stderr)
            # What is committed stays readable, also by a process that has no Spark any more.
            life.report()
            return STREAM_FAILED
        report = {**life.report(), "passed": dict(passed)}
    (folder / "report").write_text(json.dumps(report))
    return 0


def nursery(script: str) -> None:
    """Live every life that is asked for in a child."""
    for line in sys.stdin:
        folder, trap = line.split()
        child = os.fork()
        if child == 0:
            if trap != "-":
                failpoint._TRAP = failpoint._Trap(trap)
            try:
                os._exit(live(Path(folder), script, plain=True))
            except BaseException:
                sys.excepthook(*sys.exc_info())
                os._exit(1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--script", choices=SCRIPTS, default="small")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--nursery", action="store_true")
    parser.add_argument("--setting", action="append", default=[], help="NAME=VALUE, a setting of Spark")
    given = parser.parse_args()
    if given.nursery:
        nursery(given.script)
    else:
        settings = {**SETTINGS, **dict(one.split("=", 1) for one in given.setting)}
        sys.exit(live(given.folder, given.script, plain=given.plain, settings=settings))


if __name__ == "__main__":
    main()
