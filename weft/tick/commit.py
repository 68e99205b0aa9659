"""The commit of a tick: its files are written first, under new names, then one transaction makes all of it visible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from weft.failpoint import failpoint
from weft.plan.facts import Facts
from weft.plan.network import Network
from weft.registry.changes import moved, still_complete_from
from weft.registry.registered import Registered
from weft.segments.segment import EARLIEST, SegmentRow
from weft.spark.batch import BatchOutput
from weft.spark.checkpoint import BatchMark
from weft.spark.dead import DeadLetters
from weft.store.catalog import Catalog
from weft.store.change import Product, tick_product, write_products
from weft.store.derive import NewRows
from weft.store.history import activate, changed_nodes, new_nodes
from weft.store.kept import NOTHING_KEPT, KeptRows, first_kept, kept_segment
from weft.store.letters import Filed, file_letters
from weft.store.records import FAILED, LayoutRow, NodeRow, PlanRow, QueryChange, QueryRow, TickRow
from weft.store.state import StreamState, Synopsis
from weft.store.storage import Storage
from weft.store.transactions import Writer

if TYPE_CHECKING:
    from weft.optimize.planning import Plan

# Enough for every set of windows that was ever in force at once; the oldest are told apart no longer.
MAX_DROPS = 100


@dataclass(frozen=True)
class Harvest:
    """What a tick brings: which batch, what it held, new rows of every node, and the rows that count for nothing."""

    mark: BatchMark
    output: BatchOutput
    new: NewRows
    letters: DeadLetters
    facts: Facts

    @property
    def counts(self) -> dict[str, Any]:
        """The tick in numbers, for the log."""
        return {"rows": self.output.rows, "late": self.new.dropped, "dead": dict(self.letters.counts)}


@dataclass(frozen=True)
class Written:
    """The files of a tick, which nobody sees yet, and the nodes that are new or described anew."""

    products: tuple[tuple[str, Product], ...]
    segments: tuple[SegmentRow, ...]
    nodes: tuple[NodeRow, ...]
    letters: Filed
    plan: PlanRow
    kept: WrittenRows | None = None


@dataclass(frozen=True)
class WrittenRows:
    """The files of whole rows of a tick, and the node that they belong to, which may be new."""

    node: NodeRow
    files: tuple[SegmentRow, ...]


@dataclass(frozen=True)
class Published:
    """The state after a commit, the rows of the queries that took effect with it, and the catalog's revision.

    `alone` says that nobody else had changed the catalog since the plan was made.
    """

    state: StreamState
    since: tuple[QueryRow, ...]
    revision: int
    alone: bool


def write(harvest: Harvest, plan: Plan, state: StreamState, storage: Storage) -> Written:
    """Write everything that the tick brings: new rows, the history of new nodes, dead letters.

    Whole rows, where the stream keeps them, were written when they were computed from.
    """
    batch, network = harvest.mark.batch_id, plan.network
    letters = Filed()
    if harvest.letters.counts:
        with storage.catalog.read() as reader:
            known = reader.dead_letters(state.stream)
        letters = file_letters(storage.files, state.stream, batch, harvest.letters.table, known)
        failpoint("dead-letters-written")
    spacing = {node: int(harvest.facts.span / max(1, rows.count)) for node, rows in harvest.new.rows.items()}
    fresh, history = new_nodes(network, state, batch, storage.backend, spacing)
    products = (*history, *_products(network, harvest.new, state.watermark, batch))
    version = _version(plan, state, batch)
    segments = write_products(products, state.stream, version.version, storage.backend)
    kept = _written_rows(harvest, state, version.version)
    return Written(products, segments, (*fresh, *changed_nodes(network, state)), letters, version, kept)


def _written_rows(harvest: Harvest, state: StreamState, plan: int) -> WrittenRows | None:
    """The whole rows that the tick brings; None where the stream does not keep any."""
    batch, kept = harvest.mark.batch_id, harvest.output.kept
    if kept is None:
        return None
    node = state.kept.node or first_kept(state.stream, batch, state.max_event_time)
    return WrittenRows(node, tuple(kept_segment(node.id, file, batch, batch, plan) for file in kept.files))


def _version(plan: Plan, state: StreamState, batch: int) -> PlanRow:
    """The version of the plan that computed the batch: the version in force, or the next where the plan changed."""
    if state.plan is not None and state.plan.definition == plan.description:
        return state.plan
    return PlanRow(stream=state.stream, version=state.plan_version + 1, from_batch=batch, definition=plan.description)


def publish(
    harvest: Harvest,
    written: Written,
    plan: Plan,
    revision: int,
    state: StreamState,
    delay: int,
    catalog: Catalog,
    refused: Iterable[str] = (),
) -> Published:
    """Make the tick visible, whole; queries that wait for their first tick take effect with it.

    `revision` is the catalog's as it was when the plan was made: others may have changed queries since. `refused` are
    the queries that ticks computed before, and that this Weft does not accept.
    """
    row, network = _tick_row(harvest, state, delay), plan.network
    layouts = {product.layout.id: product.layout for _, product in written.products}
    failpoint("commit-before")
    with catalog.write() as writer:
        writer.put_dead_letters(written.letters.added)
        writer.delete_dead_letters(written.letters.removed)
        writer.keep_layouts(LayoutRow(id=name, definition=layout.definition()) for name, layout in layouts.items())
        writer.put_nodes(written.nodes)
        stored = writer.add_segments(written.segments)
        kept = _publish_rows(written.kept, state.kept, writer)
        after = StreamState(
            state.stream,
            row.batch_id,
            row.checkpoint,
            row.watermark,
            row.max_event_time,
            row.totals,
            with_files(network, state, written.nodes, stored),
            {**state.layouts, **layouts},
            written.plan,
            kept,
        )
        failpoint("commit-inside")
        alone = writer.revision() == revision
        known = map(writer.query, refused) if alone else writer.queries(stream=state.stream)
        computed = (query for query in known if query is not None and query.from_batch is not None)
        counted = [query for query in computed if query.status != FAILED]
        writer.update_queries(_moved_later(plan.queries, counted, row) | _left_out(plan.queries, counted))
        since = _taking_effect(plan.queries, writer.waiting_queries(state.stream), state, after)
        writer.update_queries(since)
        revision = writer.revision()
        writer.delete_nodes([node for node in state.synopses if node not in network.with_files])
        writer.put_tick(row, detail={**harvest.counts, "plan": written.plan.version})
        if written.plan is not state.plan:
            writer.put_plan(written.plan)
        failpoint("commit-end")
    failpoint("commit-after")
    active = tuple(replace(plan.queries[name].row, **change) for name, change in since.items())
    return Published(after, active, revision, alone)


def _publish_rows(written: WrittenRows | None, before: KeptRows, writer: Writer) -> KeptRows:
    """Make the whole rows of a tick visible, or have those go that the stream does not keep any more."""
    if written is None:
        if before.node is not None:
            writer.delete_nodes([before.node.id])
        return NOTHING_KEPT
    if before.node is None:
        writer.put_node(written.node)
    return KeptRows(written.node, (*before.files, *writer.add_segments(written.files)))


def publish_finished(
    products: Sequence[tuple[str, Product]], network: Network, state: StreamState, storage: Storage
) -> StreamState:
    """Store the windows that were finished ahead and make them visible; the state with them."""
    segments = write_products(products, state.stream, state.plan_version, storage.backend)
    # A tick that changed a node's layout and brought no row of it has not kept the layout yet.
    layouts = {product.layout.id: product.layout for _, product in products}
    failpoint("finish-written")
    with storage.catalog.write() as catalog:
        catalog.keep_layouts(LayoutRow(id=name, definition=layout.definition()) for name, layout in layouts.items())
        stored = catalog.add_segments(segments)
        failpoint("finish-inside")
    failpoint("finish-after")
    return replace(state, synopses=with_files(network, state, [], stored), layouts={**state.layouts, **layouts})


def _taking_effect(
    planned: Mapping[str, Registered], waiting: Iterable[QueryRow], before: StreamState, after: StreamState
) -> dict[str, QueryChange]:
    """The queries that this tick is the first of, and what their rows say from now on."""
    needs = {name: query.needs for name, query in _waiting(planned, waiting).items()}
    since = activate(needs, after, after.batch_id, before, _looked_for(planned) if needs else {})
    return {
        name: {"from_batch": first, "complete_from": moment, "status": "running"}
        for name, (first, moment) in since.items()
    }


def _looked_for(planned: Mapping[str, Registered]) -> dict[tuple[str, int], int]:
    """The matches that ticks before this tick looked for, by node, each with the moment from which on."""
    known: dict[tuple[str, int], int] = {}
    for query in planned.values():
        match, since = query.needs.match, query.row.complete_from
        if match is not None and query.row.from_batch is not None and since is not None and not query.pasts:
            for part in query.needs.parts:
                key = part.node, match.number
                known[key] = min(since, known.get(key, since))
    return known


def _waiting(planned: Mapping[str, Registered], waiting: Iterable[QueryRow]) -> dict[str, Registered]:
    """The queries without a tick that this tick computed; what came or changed after the plan waits for the next."""
    known = {row.name: (planned[row.name].row, row) for row in waiting if row.name in planned}
    same = [
        name
        for name, (computed, row) in known.items()
        if (computed.sql, computed.definition) == (row.sql, row.definition)
    ]
    return {name: planned[name] for name in same}


def _moved_later(
    planned: Mapping[str, Registered], stored: Iterable[QueryRow], tick: TickRow
) -> dict[str, QueryChange]:
    """Queries that were moved while the tick was computed: its rows are where they were, so they move with the next.

    However often they were moved: only where the tick computed them are there rows.
    """
    moment = EARLIEST if tick.max_event_time is None else tick.max_event_time + 1
    changes: dict[str, QueryChange] = {}
    for row in stored:
        query = planned.get(row.name)
        if query is not None and query.row.is_registration_of(row) and query.row.definition != row.definition:
            # The newest row says how long its windows are kept; the planned row says what it was computed for.
            planned_for = replace(row.definition, placement=query.placement, pasts=query.row.definition.pasts)
            counted = replace(row, definition=planned_for)
            definition = moved(counted, row.definition.placement, tick.batch_id + 1, moment)
            complete_from = still_complete_from(query, row, tick.watermark)
            changes[row.name] = {"definition": definition, "complete_from": complete_from}
    return changes


def _left_out(planned: Mapping[str, Registered], stored: Iterable[QueryRow]) -> dict[str, QueryChange]:
    """Queries that earlier ticks computed, but not this tick: should they be accepted again, they begin anew."""
    changes: dict[str, QueryChange] = {}
    for row in stored:
        if row.name not in planned or not planned[row.name].row.is_registration_of(row):
            changes[row.name] = {
                "definition": row.definition.without_pasts(),
                "from_batch": None,
                "complete_from": None,
                "status": "registered",
            }
    return changes


def with_files(
    network: Network, state: StreamState, changed: Sequence[NodeRow], stored: Iterable[SegmentRow]
) -> dict[str, Synopsis]:
    """The synopses of all nodes that have files, with the new files and the new descriptions."""
    rows = {**{name: synopsis.node for name, synopsis in state.synopses.items()}, **{row.id: row for row in changed}}
    files = {name: list(state.synopses[name].files) if name in state.synopses else [] for name in network.with_files}
    for segment in stored:
        files[segment.node].append(segment)
    return {name: Synopsis(rows[name], tuple(files[name])) for name in network.with_files if name in rows}


def _tick_row(harvest: Harvest, state: StreamState, delay: int) -> TickRow:
    output, new = harvest.output, harvest.new
    moments = [moment for moment in (state.max_event_time, output.newest) if moment is not None]
    newest = max(moments, default=None)
    return TickRow(
        stream=state.stream,
        batch_id=harvest.mark.batch_id,
        checkpoint=harvest.mark.checkpoint,
        offsets_digest=harvest.mark.digest,
        # The newest row only moves forward, so the watermark does too.
        watermark=None if newest is None else newest - delay,
        max_event_time=newest,
        totals={
            **_sum(state.totals, {"rows": output.rows, "late": new.dropped, "ticks": 1}),
            "ahead": 0 if harvest.mark.planned is None else harvest.mark.batch_id - harvest.mark.planned,
            "learned": harvest.facts.definition(),
            "dead": _sum(state.totals.get("dead", {}), harvest.letters.counts),
            "drops": [[sorted(windows), end] for windows, end in _drops(state, new)],
        },
    )


def _products(
    network: Network, new: NewRows, watermark: int | None, batch_id: int
) -> Iterator[tuple[str, Product]]:
    """The files of a tick: new rows of every node that has any, and counts of rows that came after the watermark."""
    for node in network.stored.values():
        rows, layout = new.rows[node.id], network.layouts[node.id]
        if rows.count:
            yield node.id, tick_product(rows, layout, batch_id)
        if node.id in new.ledgers and watermark is not None:
            ledger = new.ledgers[node.id]
            yield node.id, Product(ledger, layout, 0, "late", batch_id, batch_id, watermark, watermark + 1)


def _drops(state: StreamState, new: NewRows) -> list[tuple[frozenset[str], int]]:
    """Up to where rows were dropped that no window of these kinds could use; a new kind might have used them."""
    # Where no node reaches back that far, nobody can be misled any more.
    sliced = (synopsis.complete_from for synopsis in state.synopses.values() if synopsis.clock.sliced)
    oldest = min(sliced, default=state.max_event_time or EARLIEST)
    drops = {kinds: end for kinds, end in state.drops if end > oldest}
    for drop in new.drops:
        if drop.rows:
            drops[drop.windows] = max(drop.until, drops.get(drop.windows, drop.until))
    ordered = sorted(drops.items(), key=lambda item: item[1])
    while len(ordered) > MAX_DROPS:
        # Merge the two oldest entries, keeping only the kinds that both have: no dropped row is forgotten.
        (first, _), (second, end), *rest = ordered
        ordered = [(first & second, end), *rest]
    return ordered


def _sum(totals: Mapping[str, Any], more: Mapping[str, int]) -> dict[str, int]:
    """Add counts to totals, by name."""
    counts = {name: value for name, value in totals.items() if isinstance(value, int)}
    return {name: counts.get(name, 0) + more.get(name, 0) for name in {**counts, **more}}
