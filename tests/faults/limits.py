"""A process of its own that runs out of files, or out of permissions, in the middle of a life; says how it went.

Usage: python -m tests.faults.limits (files | permissions) folder
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.faults.scene import QUERIES, Scene, ticks
from weft.errors import StateError

NOBODY = 65534


def code_of(action: Callable[[], None]) -> str:
    """The code of the error that something ends with, or 'done'."""
    try:
        action()
    except StateError as error:
        return error.code
    return "done"


def next_tick(world: Scene) -> str:
    return code_of(lambda: world.tick(*ticks(len(world.arrived), 1)))


def out_of_files(world: Scene, n: int) -> str:
    """A tick, and an engine that opens, when only n more files may be open than are open now."""
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = [os.open(os.devnull, os.O_RDONLY) for _ in range(n + 1)]
    for one in free:
        os.close(one)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[-1], usual[1]))
    try:
        codes = next_tick(world), code_of(world.check_elsewhere)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)
    world.check()
    return "/".join(codes)


def out_of_permissions(world: Scene) -> str:
    """A tick when nothing in the folder of segments may be made or changed."""
    folders = [path for path in (world.folder / "state" / "segments").rglob("*") if path.is_dir()]
    folders.append(world.folder / "state" / "segments")
    for one in folders:
        one.chmod(0o555)
    try:
        code = next_tick(world)
        world.check()
        world.check_elsewhere()
    finally:
        for one in folders:
            one.chmod(0o755)
    return code


def main(what: str, folder: Path) -> None:
    if what == "permissions" and os.getuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    world = Scene(folder, Random(1), delay=2)
    world.register(*QUERIES)
    for one in ticks(0, 6):
        world.tick(one)
    codes = [out_of_files(world, n) for n in range(10)] if what == "files" else [out_of_permissions(world)]
    for _ in range(2):
        codes.append(next_tick(world))
    world.check()
    world.check_elsewhere()
    assert world.unknown_files() == set()
    print(*codes)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
