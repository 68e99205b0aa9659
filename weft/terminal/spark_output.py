"""What the JVM says goes into a file: its warnings would tear a live view apart, and help only when it fails."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOG = "spark.log"


@contextmanager
def jvm_output_to(folder: Path) -> Iterator[Path]:
    """While this lasts, a process that is started writes its errors to a file in the folder, and keeps doing so after.

    The JVM inherits the descriptor, so it is exchanged for the moment of its start and put back for ourselves.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / LOG
    sys.stderr.flush()
    own_stderr = os.dup(2)
    with path.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield path
    finally:
        sys.stderr.flush()
        os.dup2(own_stderr, 2)
        os.close(own_stderr)
