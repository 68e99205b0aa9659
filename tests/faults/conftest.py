"""Folders in memory where there are any: what is tested here is written, copied and spoilt hundreds of times."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")


@pytest.fixture(scope="module")
def quick_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="weft-faults-", dir=MEMORY if MEMORY.is_dir() else None))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def place(quick_folder: Path) -> Iterator[Path]:
    """A folder for one test."""
    folder = Path(tempfile.mkdtemp(dir=quick_folder))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
