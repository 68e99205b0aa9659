"""What ticks change in queries that are registered: who fails, who moves, and who lets go of where it was.

Decisions over all queries as one transaction sees them; the registry makes the transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from weft.algebra.windows import micros
from weft.plan.placement import Placement
from weft.registry.registered import Registered, keep_of, moved
from weft.segments.segment import EARLIEST
from weft.store.snapshot import Reader
from weft.store.tables import FAILED, QueryChange, QueryRow

Queries = Mapping[str, Registered]
Decide = Callable[[Queries, Reader], Mapping[str, QueryChange]]


def failures(computed: Queries, reasons: Mapping[str, str]) -> Decide:
    """Stop queries that cannot be computed; they stay registered, with the reason, until they are dropped.

    One that was replaced by another of its name meanwhile is passed over.
    """

    def decide(queries: Queries, _: Reader) -> dict[str, QueryChange]:
        known = {name: queries[name].row for name in reasons if name in queries}
        guilty = [name for name, row in known.items() if row.is_registration_of(computed[name].row)]
        return {name: {"status": FAILED, "status_detail": reasons[name]} for name in guilty}

    return decide


def moves(stream: str, placements: Mapping[str, Placement]) -> Decide:
    """Move queries of a stream: from its next batch on their rows are kept elsewhere; what is there stays readable.

    A tick that is under way meanwhile keeps their rows where they were, and its commit says so.
    """

    def decide(queries: Queries, catalog: Reader) -> dict[str, QueryChange]:
        tick = catalog.tick(stream)
        batch, newest = (0, None) if tick is None else (tick.batch_id + 1, tick.max_event_time)
        moment = EARLIEST if newest is None else newest + 1
        moving = elsewhere(queries, placements).items()
        return {name: {"definition": moved(one, placements[name], batch, moment)} for name, one in moving}

    return decide


def elsewhere(queries: Queries, placements: Mapping[str, Placement]) -> dict[str, Registered]:
    """Those of the queries that are not where they are to be."""
    known = {name: queries[name] for name in placements if name in queries}
    return {name: one for name, one in known.items() if one.placement != placements[name]}


def kept_otherwise(one: Registered, said: Mapping[str, Any], catalog: Reader) -> QueryChange:
    """Keep a query's windows longer or shorter, or finish them ahead or not, as is said; all else stays.

    A tick that is under way meanwhile keeps what it knew of, and its commit says so.
    """
    tick = catalog.tick(one.row.stream)
    row = replace(one.row, definition={**one.row.definition, **said})
    moment = still_complete_from(one, row, None if tick is None else tick.watermark)
    return {"definition": row.definition, "complete_from": moment}


def still_complete_from(one: Registered, row: QueryRow, watermark: int | None) -> int | None:
    """From which moment on a query is held in full that was kept as `one` says until this watermark, and now as `row`.

    What it did not keep before may be gone: where it keeps more now, the windows there are, are those that it had.
    """
    window, keep = one.needs.window, keep_of(row.definition["keep"])
    if row.complete_from is None or window is None or watermark is None:
        return row.complete_from
    if one.keep is None or (keep is not None and keep <= one.keep):
        return row.complete_from
    return max(row.complete_from, watermark - micros(one.keep) - micros(window.range) + 1)


def forgotten(batches: Mapping[str, int]) -> Decide:
    """Let go of what queries read before they moved, up to a batch: nothing of it is left."""

    def decide(queries: Queries, _: Reader) -> dict[str, QueryChange]:
        changes: dict[str, QueryChange] = {}
        for name, batch in batches.items():
            definition = queries[name].row.definition if name in queries else {}
            pasts = [one for one in definition.get("pasts", ()) if one["until"] > batch]
            rest = {key: value for key, value in definition.items() if key != "pasts"}
            if definition.get("pasts"):
                changes[name] = {"definition": {**rest, **({"pasts": pasts} if pasts else {})}}
        return changes

    return decide
