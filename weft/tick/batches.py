"""Which batches are counted: what is the same is passed over, what does not belong here stops the stream, loudly."""

from __future__ import annotations

from dataclasses import replace

from weft.errors import StateError
from weft.spark.checkpoint import BatchMark
from weft.store.catalog import Snapshot
from weft.store.records import ADOPTED, TickRow
from weft.store.state import StreamState


def numbered(batch: BatchMark, last: TickRow | None) -> BatchMark:
    """The batch under the number that it has here, after the last batch that was counted.

    Batches are numbered as Spark does, but a checkpoint that was adopted counts from zero, and here they go on.
    """
    if last is None:
        return batch
    if last.checkpoint == ADOPTED:
        return replace(batch, batch_id=last.batch_id + 1, planned=batch.batch_id, before=None)
    ahead = int(last.totals.get("ahead", 0)) if last.checkpoint == batch.checkpoint else 0
    return replace(batch, batch_id=batch.batch_id + ahead, planned=batch.batch_id) if ahead else batch


def is_done(batch: BatchMark, state: StreamState, catalog: Snapshot) -> bool:
    """Whether the batch is committed; refuses a batch of another checkpoint, or of other rows, than counted so far."""
    if state.batch_id >= 0 and state.checkpoint not in (batch.checkpoint, ADOPTED):
        raise StateError(
            "checkpoint-replaced",
            f"stream {state.stream!r} was counted with another checkpoint",
            hint="Restore the checkpoint that belongs to this state; where it is lost, adopt the new one.",
        )
    if batch.batch_id > state.batch_id + 1:
        last = f"batch {state.batch_id}" if state.batch_id >= 0 else "no batch at all"
        raise StateError(
            "batches-missing",
            f"batch {batch.batch_id} cannot follow {last}",
            hint="Restore the catalog that belongs to this checkpoint.",
        )
    before = None if batch.before is None else catalog.logged_tick(state.stream, batch.batch_id - 1)
    if before is not None and batch.before != before.digest:
        # Spark planned this batch from where the batch before ends now: rows between both ends are lost, or come twice.
        raise _offsets_differ(batch.batch_id - 1)
    if batch.batch_id > state.batch_id:
        return False
    known = catalog.logged_tick(state.stream, batch.batch_id)
    if known is None:
        raise StateError(
            "batch-forgotten",
            f"batch {batch.batch_id} came so long before batch {state.batch_id} that its offsets are not known",
            hint="The checkpoint is much older than the catalog. Restore one that belongs to this state.",
        )
    if known.digest != batch.digest:
        raise _offsets_differ(batch.batch_id)
    return True


def _offsets_differ(batch_id: int) -> StateError:
    return StateError(
        "offsets-differ",
        f"batch {batch_id} covers other rows than when it was committed",
        hint="A file of the checkpoint is lost or changed. Restore the whole checkpoint that belongs to this state.",
    )
