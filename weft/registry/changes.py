"""What ticks change in registered queries: which fail, which move, and which let go of where they were.

Decisions over all queries as a transaction sees them; the registry makes the transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from weft.plan.placement import Placement
from weft.registry.registered import Registered
from weft.segments.segment import EARLIEST
from weft.store.definition import QueryDefinition
from weft.store.records import FAILED, QueryChange, QueryRow
from weft.store.snapshot import Snapshot

Queries = Mapping[str, QueryRow]
Decide = Callable[[Queries, Snapshot], Mapping[str, QueryChange]]


def failures(computed: Mapping[str, Registered], reasons: Mapping[str, str]) -> Decide:
    """Stop queries that cannot be computed; they stay registered, with the reason, until they are dropped.

    A query that was replaced by another of its name meanwhile is passed over.
    """

    def decide(queries: Queries, _: Snapshot) -> dict[str, QueryChange]:
        known = {name: queries[name] for name in reasons if name in queries}
        guilty = [name for name, row in known.items() if row.is_registration_of(computed[name].row)]
        return {name: {"status": FAILED, "status_detail": reasons[name]} for name in guilty}

    return decide


def moves(stream: str, placements: Mapping[str, Placement]) -> Decide:
    """Move queries of a stream: from its next batch on their rows are kept elsewhere; what is there stays readable.

    A tick that is under way meanwhile keeps their rows where they were, and its commit says so.
    """

    def decide(queries: Queries, catalog: Snapshot) -> dict[str, QueryChange]:
        tick = catalog.tick(stream)
        batch, newest = (0, None) if tick is None else (tick.batch_id + 1, tick.max_event_time)
        moment = EARLIEST if newest is None else newest + 1
        moving = elsewhere(queries, placements).items()
        return {name: {"definition": moved(row, placements[name], batch, moment)} for name, row in moving}

    return decide


def elsewhere(queries: Queries, placements: Mapping[str, Placement]) -> dict[str, QueryRow]:
    """The queries whose placement is not the placement that they are to have."""
    known = {name: queries[name] for name in placements if name in queries}
    return {name: row for name, row in known.items() if row.definition.placement != placements[name]}


def moved(row: QueryRow, placement: Placement, batch: int, moment: int) -> QueryDefinition:
    """The definition of a query that moves with a batch; no row of earlier batches has reached `moment`."""
    return row.definition.moved(placement, batch, moment, counted=row.from_batch is not None)


def kept_otherwise(query: Registered, definition: QueryDefinition, catalog: Snapshot) -> QueryChange:
    """Keep a query's windows longer or shorter, or finish them ahead or not, as a definition says; all else stays.

    A tick that is under way meanwhile keeps what it knew of, and its commit says so.
    """
    tick = catalog.tick(query.row.stream)
    row = replace(query.row, definition=definition)
    moment = still_complete_from(query, row, None if tick is None else tick.watermark)
    return {"definition": definition, "complete_from": moment}


def still_complete_from(query: Registered, row: QueryRow, watermark: int | None) -> int | None:
    """The moment from which on a query is complete that was kept as it says until this watermark, and now as `row`.

    What it did not keep before may be gone: a query that keeps more now has the windows that it had, and no older.
    """
    reach, keep = query.reach, row.definition.keep
    if row.complete_from is None or reach is None or watermark is None:
        return row.complete_from
    if query.keep is not None and keep is not None and keep <= query.keep:
        return row.complete_from
    return max(row.complete_from, watermark - reach + 1)


def forgotten(batches: Mapping[str, int]) -> Decide:
    """Let go of what queries read before they moved, up to a batch: nothing of it is left."""

    def decide(queries: Queries, _: Snapshot) -> dict[str, QueryChange]:
        changes: dict[str, QueryChange] = {}
        for name, batch in batches.items():
            if name in queries and queries[name].definition.pasts:
                changes[name] = {"definition": queries[name].definition.without_pasts(batch)}
        return changes

    return decide


def to_be_filled(names: Iterable[str], batch: int, moment: int) -> Decide:
    """Have queries filled from the rows that are kept of before a batch, which is their first."""

    def decide(queries: Queries, _: Snapshot) -> dict[str, QueryChange]:
        waiting = {name: queries[name] for name in names if name in queries and queries[name].from_batch is None}
        return {name: {"definition": row.definition.to_be_filled(batch, moment)} for name, row in waiting.items()}

    return decide


def not_filled(computed: Collection[Registered]) -> Decide:
    """Have queries go on without the kept rows of before them."""

    def decide(queries: Queries, _: Snapshot) -> dict[str, QueryChange]:
        known = {query.name: queries[query.name] for query in computed if query.name in queries}
        same = [query for query in computed if query.name in known and known[query.name].is_registration_of(query.row)]
        return {query.name: {"definition": known[query.name].definition.not_filled()} for query in same}

    return decide
