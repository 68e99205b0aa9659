"""What ticks change in queries that are registered: who fails, who moves, and who lets go of where it was.

Decisions over all queries as one transaction sees them; the registry makes the transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from weft.plan.placement import Placement
from weft.registry.registered import Registered, moved
from weft.segments.segment import EARLIEST
from weft.store.snapshot import Reader
from weft.store.tables import FAILED, QueryChange

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
