"""History for what is new: a node starts with all that finer nodes hold of it, a query with all that its nodes hold."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace

from weft.backend.interface import Backend, Selection, Source
from weft.errors import StateError
from weft.plan.description import describe_node
from weft.plan.dimensions import keeps_rows_of
from weft.plan.layout import complete_from
from weft.plan.needs import Needs, Part
from weft.plan.network import Network, Node
from weft.segments.rows import LEVEL, STRAGGLER, row_schema
from weft.segments.segment import EARLIEST, LATEST, SegmentRow
from weft.store.change import Product, tick_product
from weft.store.derive import derived
from weft.store.records import NodeRow
from weft.store.seal import stored_statistics
from weft.store.state import StreamState, Synopsis

log = logging.getLogger("weft.store")


def new_nodes(
    network: Network, state: StreamState, batch_id: int, backend: Backend, spacing: Mapping[str, int]
) -> tuple[list[NodeRow], list[tuple[str, Product]]]:
    """Make a row for every node that is not stored yet, and the files that its history is copied into.

    `spacing` is the time from one partial row of a node to the next: blocks that hold less than a row each are levels
    for nothing, where slices are far shorter than that.
    """
    rows, products = [], []
    for node in network.stored.values():
        known = state.synopses.get(node.id)
        if known is not None:
            if not known.fed:
                # No tick computed the node for a while: to queries that come now it begins here.
                row = replace(known.node, definition={**known.node.definition, **_describe(node)})
                rows.append(replace(row, complete_from=_beginning(node, state, batch_id)))
            continue
        donor = _donor(node, state)
        copied = None if donor is None else _history(node, donor, state, batch_id, backend)
        products += [(node.id, product) for product in copied or ()]
        moment = _beginning(node, state, batch_id) if donor is None or copied is None else donor.complete_from
        unit = 1 if node.slicing is None else max(node.slicing.mean_length(), spacing.get(node.id, 0))
        definition = {**_describe(node), "unit": unit, "heights": []}
        rows.append(
            NodeRow(
                id=node.id,
                stream=network.stream,
                definition=definition,
                created_batch=batch_id,
                complete_from=None if moment == EARLIEST else moment,
            )
        )
    return rows, products


def changed_nodes(network: Network, state: StreamState) -> list[NodeRow]:
    """List the stored nodes whose description changed."""
    changed = []
    for name, node in network.with_files.items():
        synopsis = state.synopses.get(name)
        fed = name in network.stored
        if synopsis is not None and synopsis.fed >= fed:
            definition = {**synopsis.node.definition, **_describe(node), "fed": fed}
            if definition != synopsis.node.definition:
                changed.append(replace(synopsis.node, definition=definition))
    return changed


LookedFor = Mapping[tuple[str, int], int]
"""For the matches of nodes that ticks looked for already, by node and number, the moment from which on they did."""


def activate(
    waiting: Mapping[str, Needs], state: StreamState, batch_id: int, before: StreamState, known: LookedFor
) -> dict[str, tuple[int, int]]:
    """Tell, for queries that take effect with a batch, the batch and the moment from which their windows are whole.

    `before` is the state without the batch. A node of matches has no file for a tick in which none kept a row: that
    tells nothing of a match that nobody looked for, which begins with this batch.
    """
    read = {part.node for needs in waiting.values() for part in needs.parts}
    held = {name: state.held(state.synopses[name]) for name in read}
    since = {}
    for name, needs in waiting.items():
        moments = (
            max(
                # Selected rows tell their own moments: those before the match may be in slices of those after it.
                complete_from(
                    needs, part, state.synopses[part.node].complete_from, () if needs.selects else held[part.node]
                ),
                _sought_from(needs, part, before, batch_id, known),
            )
            for part in needs.parts
        )
        since[name] = (batch_id, max(state.dropped_until(needs.window), *moments))
    return since


def _sought_from(needs: Needs, part: Part, before: StreamState, batch_id: int, known: LookedFor) -> int:
    """The moment from which on the match of a query was looked for, if it has one."""
    if needs.match is None or before.batch_id < 0:
        return EARLIEST
    now = _after(before.max_event_time) if needs.window.clock.sliced else batch_id
    return min(now, known.get((part.node, needs.match.number), now))


def _describe(node: Node) -> dict[str, object]:
    return {**describe_node(node), "fed": True}


def _beginning(node: Node, state: StreamState, batch_id: int) -> int | None:
    """Tell from when on a node that starts with this batch is whole; None for always."""
    if state.batch_id < 0:
        return None
    return _after(state.max_event_time) if node.clock.sliced else batch_id


def _after(newest: int | None) -> int:
    """The first moment that no row before this tick can have reached."""
    return EARLIEST if newest is None else newest + 1


def _donor(node: Node, state: StreamState) -> Synopsis | None:
    """Choose the stored node with all of the new node's dimensions that reaches furthest back, then the narrowest."""
    wanted = {dimension.name for dimension in node.dimensions}
    finer = [
        synopsis
        for synopsis in state.synopses.values()
        if synopsis.fed
        and synopsis.clock is node.clock
        and wanted <= synopsis.dimensions
        and keeps_rows_of(synopsis.dimensions, wanted)
    ]
    return min(finer, key=lambda donor: (donor.complete_from, len(donor.dimensions), donor.node.id), default=None)


def _history(
    node: Node, donor: Synopsis, state: StreamState, batch_id: int, backend: Backend
) -> list[Product] | None:
    """Copy the donor's rows as the new node has them; None where they cannot be merged, for whatever reason."""
    try:
        return list(_copy(node, donor, state, batch_id, backend))
    except (OSError, StateError):
        raise
    except Exception as error:
        log.warning("history not copied", extra={"node": node.id, "reason": str(error)})
        return None


def _copy(
    node: Node, donor: Synopsis, state: StreamState, batch_id: int, backend: Backend
) -> Iterable[Product]:
    """Merge the donor's slices to the new node's dimensions, into a file for each layout there is."""
    groups: dict[str, list[SegmentRow]] = {}
    for file in donor.data:
        groups.setdefault(file.layout, []).append(file)
    cut = {dimension.name for dimension in node.dimensions if dimension.cells or dimension.matches}
    for identifier, files in groups.items():
        layout = state.layouts[identifier]
        statistics = stored_statistics(node, layout)
        cuts = tuple(pair for pair in layout.cuts if pair[0] in cut)
        narrowed = replace(layout, statistics=frozenset(statistic.name for statistic in statistics), cuts=cuts)
        schema = row_schema(node.dimensions, statistics)
        slices = Selection(_slices(files, donor), tuple(schema.names), schema)
        rows = backend.merge(derived(node, slices, batch_id - 1, statistics))
        if rows.count:
            yield tick_product(rows, narrowed, batch_id - 1)


def _slices(files: Iterable[SegmentRow], donor: Synopsis) -> tuple[Source, ...]:
    """The rows of files that stand for slices: no blocks, and nothing that a block file holds already."""
    blocks, partly, whole = list[SegmentRow](), list[SegmentRow](), list[SegmentRow]()
    for file in files:
        if file.kind == "block":
            blocks.append(file)
        else:
            sealed = donor.clock.sliced and file.batch_to <= donor.node.sealed_batch
            (partly if sealed else whole).append(file)
    return (
        Source(tuple(blocks), f"{LEVEL} IN (0, {STRAGGLER})"),
        Source(tuple(partly), span=(donor.node.sealed_time, LATEST)),
        Source(tuple(whole)),
    )
