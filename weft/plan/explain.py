"""The network as text: nodes with dimensions, slices and statistics, what is derived from what, and who reads it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from weft.aggregates.statistics import ROWS
from weft.algebra.expressions import Slot, text, transform
from weft.algebra.windows import MICROSECOND, duration_text
from weft.plan.bill import Bill, seconds_text
from weft.plan.bound import Bound
from weft.plan.needs import Needs
from weft.plan.network import Network, Node
from weft.plan.slices import Slicing

MAX_READERS = 8


def explain_network(network: Network, bill: Bill | None = None, others: Mapping[str, float] | None = None) -> str:
    """The whole network of a stream, parents above what is derived from them.

    With a bill, what each node costs; `others` are the seconds of a tick under other plans, by what they are.
    """
    lines = [f"stream {network.stream}"]
    if bill is not None:
        whole = seconds_text(bill.nodes[""])
        lines.append(f"  a tick takes about {seconds_text(bill.total)}, {whole} of it for Spark to read its rows")
        lines += [f"  it would take {seconds_text(price)} {what}" for what, price in (others or {}).items()]
    lines += [f"  slices {slices_text(slicing)}" for slicing, _ in network.trees.values()] or ["  slices none"]
    names = {one.name: str(one) for node in network.nodes for one in node.dimensions}
    lines += [
        f"  {names[name]}: {len(points)} cut{'s' if len(points) != 1 else ''}"
        for name, points in network.cuts
        if name in names
    ]
    for node in network.base:
        lines += _tree(node, network, 1, bill)
    lines += [f"  {node_label(node)} computed no more, kept for windows from before a move" for node in network.retired]
    if network.refusals:
        lines.append("  not shared")
        labels = {node.id: node_label(node) for node in network.nodes}
        lines += [f"    {labels[one.node]} from {labels[one.other]}: {one.reason}" for one in network.refusals]
    return "\n".join(lines)


def explain_query(
    name: str,
    needs: Needs,
    network: Network,
    complete_from: datetime | int | None,
    bound: Bound,
    bill: Bill | None = None,
) -> str:
    """What one query reads, how its result is made, what it costs, and what is not shared with it and why."""
    lines = [f"query {name}", f"  window {needs.window or 'none: totals over all that has arrived'}"]
    named = {one.name: one for part in needs.parts for one in part.dimensions}

    def spell(slot: object) -> Slot | None:
        return Slot(str(named[slot.name]), slot.type) if isinstance(slot, Slot) and slot.name in named else None

    if needs.residue is not None:
        lines.append(f"  keeps groups with {text(transform(needs.residue, spell)).replace('$', '')}")
    for part in needs.parts:
        node = network.by_id.get(part.node)
        statistics = sorted(str(one) for one in part.statistics if one != ROWS) or [str(ROWS)]
        lines.append(f"  reads {_dimensions(sorted(map(str, part.dimensions)))}: {', '.join(statistics)}")
        if node is None:
            lines.append("    a node of its own from the next tick on")
            continue
        if node.parent is not None:
            lines.append(f"    derived from {node_label(network.by_id[node.parent])}")
        others = [reader for reader in node.readers if reader != name]
        lines.append(f"    shared with {_some(others)}" if others else "    read by no other query")
        lines += [
            f"    not from {node_label(network.by_id[one.other])}: {one.reason}"
            for one in network.refusals
            if one.node == part.node
        ]
    if bill is not None:
        share = bill.share(name)
        lines.append(f"  pays {seconds_text(share)} of a tick of about {seconds_text(bill.total)}")
    lines += [f"  holds {held_text(complete_from)}", f"  state: {bound}"]
    return "\n".join(lines)


def held_text(complete_from: datetime | int | None) -> str:
    """Which windows there are in full; of a query without a window, the ticks whose rows it counts.

    >>> held_text(4)
    'every row since tick 4'
    """
    if complete_from is None:
        return "nothing stored yet"
    if isinstance(complete_from, int):
        return f"every row since tick {complete_from}"
    if complete_from.year < 2:
        return "everything since the stream began"
    return f"every window that starts at {complete_from.isoformat()} or later"


def _tree(node: Node, network: Network, depth: int, bill: Bill | None) -> list[str]:
    indent = "  " * depth
    source = "from rows" if node.parent is None else f"from {node_label(network.by_id[node.parent])}"
    cost = f", {seconds_text(bill.nodes[node.id])}" if bill is not None else ""
    several = f" in slices {slices_text(node.slicing)}" if len(network.trees) > 1 and not node.running else ""
    lines = [
        f"{indent}{node_label(node)} {source}{several}{cost}",
        f"{indent}  statistics {', '.join(sorted(map(str, node.statistics)))}",
    ]
    if node.windows:
        lines.append(f"{indent}  windows {'; '.join(map(str, node.windows))}")
    lines.append(f"{indent}  read by {_some(node.readers)}" if node.readers else f"{indent}  only to make others of")
    for child in network.nodes:
        if child.parent == node.id:
            lines += _tree(child, network, depth + 1, bill)
    return lines


def node_label(node: Node) -> str:
    """A node by what it is grouped by."""
    kind = "totals" if node.running else "node"
    return f"{kind} {_dimensions([str(one) for one in sorted(node.dimensions, key=str)])}"


def _dimensions(names: list[str]) -> str:
    return f"({', '.join(names)})"


def _some(readers: tuple[str, ...] | list[str]) -> str:
    more = len(readers) - MAX_READERS
    return ", ".join(readers[:MAX_READERS]) + (f" and {more} more" if more > 0 else "")


def slices_text(slicing: Slicing | None) -> str:
    """How time is cut."""
    if slicing is None:
        return "none"
    if slicing.kind == "uniform":
        return f"of {duration_text(slicing.period * MICROSECOND)}"
    if slicing.kind == "table":
        return f"at {len(slicing.table)} edges every {duration_text(slicing.period * MICROSECOND)}"
    return f"at the edges of {len(slicing.progressions)} progressions"
