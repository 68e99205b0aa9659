"""A project that was moved: Spark's notes of the files that it has read follow them to where they are now.

Spark knows a file by its whole address. After a move every file would be new to it, and count twice.
Keeps: a process that dies on the way leaves notes of either kind, and the next start goes on. Digests of batches go by
the addresses that the files had at first, so that a batch is known again wherever it is.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.errors import StreamError
from weft.spark.reading import GLOB

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOTE = re.compile(r"[0-9]+(\.compact)?")
ADDRESS = re.compile(r"((?:file:(?://)?)?)(/.*)", re.DOTALL)


@dataclass(frozen=True)
class Move:
    """The folder of a stream's files before and after a move, as it stands in addresses of files."""

    before: str
    after: str

    def address(self, text: str) -> str:
        """The address of a file after the move; that of a file elsewhere stays.

        >>> Move("/a/in", "/b/in").address("file:///a/in/x%20y.csv")
        'file:///b/in/x%20y.csv'
        >>> Move("/a/in", "/b/in").address("file:///a/input/x.csv")
        'file:///a/input/x.csv'
        """
        address = ADDRESS.fullmatch(text)
        if address is None or not below(address[2], self.before):
            return text
        return address[1] + self.after + address[2][len(self.before) :]


def below(path: str, folder: str) -> bool:
    """Whether a path is a folder or in it."""
    return path == folder or path.startswith(f"{folder}/")


def move_of(session: SparkSession, before: str | None, after: str | None) -> Move | None:
    """The move between two paths of a stream; None where nothing was moved."""
    if before is None or after is None or before == after:
        return None
    return Move(_written(session, before), _written(session, after))


def follow(checkpoint: str, move: Move, stream: str) -> None:
    """Rewrite Spark's notes of a file source, so that they name the files where they are now."""
    if below(move.before, move.after) or below(move.after, move.before):
        raise StreamError(
            "stream-differs",
            f"the files of stream {stream!r} were moved from {move.before} to {move.after}, one of them in the other",
            hint="Move the project to a folder that is not inside of the old one, nor around it.",
        )
    folder = Path(checkpoint, "sources", "0")
    for file in sorted(folder.iterdir()) if folder.is_dir() else ():
        if NOTE.fullmatch(file.name):
            _rewrite(file, move)


def _rewrite(file: Path, move: Move) -> None:
    version, *lines = file.read_text(encoding="utf-8").split("\n")
    moved = "\n".join([version, *(_moved(line, move) for line in lines)])
    new = file.with_name(f".{file.name}.moved")
    with new.open("w", encoding="utf-8") as out:
        out.write(moved)
        out.flush()
        os.fsync(out.fileno())
    # The checksum goes first: a note without a checksum is taken as it is, a note with a wrong checksum is damage.
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    os.replace(new, file)


def _moved(line: str, move: Move) -> str:
    if not line:
        return line
    entry: dict[str, Any] = json.loads(line)
    return json.dumps({**entry, "path": move.address(entry["path"])}, separators=(",", ":"), ensure_ascii=False)


def _written(session: SparkSession, path: str) -> str:
    """The folder of a path, before the first part that is a pattern, as Spark writes it in addresses."""
    parts = path.split("/")
    plain = next((number for number, part in enumerate(parts) if GLOB & set(part)), len(parts))
    jvm: Any = session._jvm
    return str(jvm.org.apache.hadoop.fs.Path("/".join(parts[:plain]) or "/").toUri().getRawPath())
