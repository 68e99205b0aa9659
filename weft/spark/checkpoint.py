"""What Spark's checkpoint says about a batch: whose it is and exactly which rows it planned.

Batch ids alone are not enough to skip what is done: a new checkpoint counts from zero again, and a lost offsets file
lets Spark plan other rows under the same id.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from weft.errors import StateError
from weft.spark.moved import Move
from weft.spark.paths import exists, read_bytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# So many notes of a file source become a single note (spark.sql.streaming.fileSource.log.compactInterval).
COMPACTED = 10


@dataclass(frozen=True)
class BatchMark:
    """The identity of a batch: its checkpoint, its number, and a digest of the offsets it covers.

    `before` is the digest of the batch before it as the checkpoint has it now, where somebody looked. `planned` is the
    number that Spark gave it, where that is another: a checkpoint that was adopted counts from zero.
    """

    checkpoint: str
    batch_id: int
    digest: str
    before: str | None = None
    planned: int | None = None


def read_mark(
    session: SparkSession, folder: str, batch_id: int, *, look_back: bool = False, home: Move | None = None
) -> BatchMark:
    """The mark of a batch that is about to run; Spark writes these files before it hands the batch over.

    The digest is of the rows that the batch covers and of nothing else: the same rows that are planned anew, as after
    an older checkpoint was restored, are known again, whenever that happens and with whatever settings. Spark plans a
    batch from where the batch before ended: `look_back` reads that again, as Spark does when it starts. `home` leads
    from where files are now to where they were at first, which digests go by.
    """
    metadata = json.loads(read_bytes(session, f"{folder}/metadata"))
    if exists(session, f"{folder}/commits/{batch_id}"):
        raise StateError(
            "offsets-differ",
            f"Spark hands batch {batch_id} over again although it noted that it is done",
            hint="The checkpoint lost an offsets file. Restore it from a backup.",
        )
    before = _digest(session, folder, batch_id - 1, home) if look_back and batch_id else None
    return BatchMark(metadata["id"], batch_id, _digest(session, folder, batch_id, home), before)


def _digest(session: SparkSession, folder: str, batch_id: int, home: Move | None) -> str:
    """A digest of the rows that a batch covers."""
    covered = hashlib.sha256()
    for source, offset in enumerate(_offsets(session, folder, batch_id)):
        covered.update(json.dumps(offset, sort_keys=True).encode() + b"\n")
        for entry in _entries(session, folder, batch_id, source):
            path = entry["path"] if home is None else home.address(entry["path"])
            covered.update(f"{path} {entry['timestamp']}\n".encode())
    return covered.hexdigest()


def read_clock(session: SparkSession, folder: str, batch_id: int) -> int:
    """The clock of a batch in milliseconds, the same each time it runs."""
    lines = read_bytes(session, f"{folder}/offsets/{batch_id}").decode().splitlines()
    return int(json.loads(lines[1])["batchTimestampMs"])


def list_files(session: SparkSession, folder: str, batch_id: int) -> tuple[str, ...]:
    """The files that a batch of a file source covers; Spark notes them as addresses, with escaped letters."""
    return tuple(unquote(entry["path"]) for entry in _entries(session, folder, batch_id, 0))


def _offsets(session: SparkSession, folder: str, batch_id: int) -> list[Any]:
    """How far a batch reaches in every source, as the source itself says it."""
    lines = read_bytes(session, f"{folder}/offsets/{batch_id}").decode().splitlines()
    # A dash stands for a source that had nothing yet.
    return [None if line == "-" else json.loads(line) for line in lines[2:]]


def _entries(session: SparkSession, folder: str, batch_id: int, source: int) -> list[dict[str, Any]]:
    """What a file source noted of the files of a batch; nothing where the source is of another kind.

    A batch covers all notes since the batch before. That is a single note as a rule, and two after a death between a
    note and the offsets that were to follow it.
    """
    last = _note(_offsets(session, folder, batch_id), source)
    if last is None:
        return []
    before = _note(_offsets(session, folder, batch_id - 1), source) if batch_id else None
    first = 0 if before is None else before + 1
    return [entry for note in range(first, last + 1) for entry in _noted(session, f"{folder}/sources/{source}", note)]


def _note(offsets: list[Any], source: int) -> int | None:
    """The number of the newest note that the offsets of a file source mean."""
    offset = offsets[source] if source < len(offsets) else None
    return int(offset["logOffset"]) if isinstance(offset, dict) and set(offset) == {"logOffset"} else None


def _noted(session: SparkSession, folder: str, note: int) -> list[dict[str, Any]]:
    """The entries of a note; every tenth file of Spark's log repeats the files before it, which then may go."""
    paths = [f"{folder}/{note}", *(f"{folder}/{later}.compact" for later in range(note, note + COMPACTED))]
    content = read_bytes(session, next((path for path in paths if exists(session, path)), paths[0]))
    entries = (json.loads(line) for line in content.decode().splitlines()[1:])
    return [entry for entry in entries if entry["batchId"] == note]
