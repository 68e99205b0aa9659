"""The network as text: nodes with dimensions, slices and statistics, what is derived from what, and who reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import islice

from weft.aggregates.statistics import ROW_COUNT
from weft.algebra.windows import MICROSECOND, duration_text
from weft.plan.bill import Bill, seconds_text
from weft.plan.bound import Bound
from weft.plan.dimensions import Dimension, is_sign
from weft.plan.finer import NotShared
from weft.plan.needs import Needs
from weft.plan.network import Network, Node
from weft.plan.prices import DUCKDB, SPARK
from weft.plan.slices import Slicing
from weft.sql.spelling import spelled

MAX_READERS = 8
# With nothing shared there is a reason for every pair of nodes.
MAX_REFUSALS = 100


def explain_network(
    network: Network, bill: Bill | None = None, others: Mapping[str, float] | None = None, kept: str = ""
) -> str:
    """The whole network of a stream, parents above what is derived from them.

    With a bill, what each node costs; `others` are the seconds of a tick under other plans, by what they are. `kept`
    says which whole rows are kept beside.
    """
    lines = [f"stream {network.stream}", *([f"  {kept}"] if kept else [])]
    if bill is not None:
        whole = seconds_text(bill.nodes[""])
        kernel = {SPARK: "Spark", DUCKDB: "DuckDB"}[bill.kernel]
        lines.append(f"  a tick takes about {seconds_text(bill.total)}, {whole} of it for {kernel} to read its rows")
        lines += [f"  it would take {seconds_text(price)} {what}" for what, price in (others or {}).items()]
    lines += [f"  slices {slices_text(slicing)}" for slicing, _ in network.trees.values()] or ["  slices none"]
    names = {dimension.name: dimension.spelled for node in network.nodes for dimension in node.dimensions}
    lines += [
        f"  {names[name]}: {len(points)} cut{'s' if len(points) != 1 else ''}"
        for name, points in network.cuts
        if name in names
    ]
    for node in network.base:
        lines += _tree(node, network, 1, bill)
    lines += [f"  {node_label(node)} computed no more, kept for windows from before a move" for node in network.retired]
    refused, more = first_refusals(network, sorted(network.stored))
    if refused:
        lines.append("  not shared")
        label = {node: node_label(network.by_id[node]) for pair in refused for node in (pair.node, pair.other)}
        lines += [f"    {label[refusal.node]} from {label[refusal.other]}: {refusal.reason}" for refusal in refused]
        lines += ["    and more; explain a query to see what is not shared with it"] if more else []
    return "\n".join(lines)


def first_refusals(network: Network, nodes: Iterable[str], most: int = MAX_REFUSALS) -> tuple[list[NotShared], bool]:
    """The first refusals of these nodes, by name, at most `most` of them; and whether there are more."""
    refusals = list(islice((refusal for node in nodes for refusal in network.refusals(node)), most + 1))
    return sorted(refusals[:most], key=lambda refusal: (refusal.node, refusal.other)), len(refusals) > most


def explain_query(
    name: str,
    needs: Needs,
    network: Network,
    complete_from: datetime | int | None,
    bound: Bound,
    bill: Bill | None = None,
) -> str:
    """Explain what a query reads, how its result is made, what it costs, and what is not shared with it and why."""
    lines = [f"query {name}", f"  window {needs.window.explained}"]
    if needs.where is not None:
        lines.append(f"  keeps rows with {spelled(needs.where)}")
    for part in needs.parts:
        node = network.by_id.get(part.node)
        named = sorted(statistic.spelled for statistic in part.statistics if statistic != ROW_COUNT)
        statistics = named or [ROW_COUNT.spelled]
        lines.append(f"  reads {_dimensions(part.dimensions)}: {', '.join(statistics)}")
        if node is None:
            lines.append("    a node of its own from the next tick on")
            continue
        if node.parent is not None:
            lines.append(f"    derived from {node_label(network.by_id[node.parent])}")
        others = [reader for reader in node.readers if reader != name]
        lines.append(f"    shared with {_listed(others)}" if others else "    read by no other query")
        lines += refusal_lines(network, part.node)
    if bill is not None:
        share = bill.share(name)
        lines.append(f"  pays {seconds_text(share)} of a tick of about {seconds_text(bill.total)}")
    lines += [f"  holds {held_text(complete_from)}", f"  state: {bound}"]
    return "\n".join(lines)


def refusal_lines(network: Network, node: str) -> list[str]:
    """The nodes that a node is not computed from, and why, a line each."""
    refused, more = first_refusals(network, [node])
    lines = [f"    not from {node_label(network.by_id[refusal.other])}: {refusal.reason}" for refusal in refused]
    return [*lines, *(["    nor from more nodes"] if more else [])]


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
    several = f" in slices {slices_text(node.slicing)}" if len(network.trees) > 1 and node.clock.sliced else ""
    lines = [
        f"{indent}{node_label(node)} {source}{several}{cost}",
        f"{indent}  statistics {', '.join(sorted(statistic.spelled for statistic in node.statistics))}",
    ]
    if node.windows and not node.holds_rows:
        lines.append(f"{indent}  windows {'; '.join(map(str, node.windows))}")
    lines.append(f"{indent}  read by {_listed(node.readers)}" if node.readers else f"{indent}  only to make others of")
    for child in network.children.get(node.id, ()):
        lines += _tree(child, network, depth + 1, bill)
    return lines


def node_label(node: Node) -> str:
    """The label of a node: what it is grouped by."""
    kind = "rows" if node.holds_rows else "node" if node.clock.sliced else "totals"
    return f"{kind} {_dimensions(node.dimensions)}"


def _dimensions(dimensions: Iterable[Dimension]) -> str:
    # How selected rows are told apart is nothing that anybody asked for.
    shown = (dimension.spelled for dimension in dimensions if not dimension.ticks and not is_sign(dimension))
    return f"({', '.join(sorted(shown))})"


def _listed(readers: tuple[str, ...] | list[str]) -> str:
    more = len(readers) - MAX_READERS
    return ", ".join(readers[:MAX_READERS]) + (f" and {more} more" if more > 0 else "")


def slices_text(slicing: Slicing | None) -> str:
    """How a slicing cuts time, in words."""
    if slicing is None:
        return "none"
    if slicing.kind == "uniform":
        return f"of {duration_text(slicing.period * MICROSECOND)}"
    if slicing.kind == "table":
        return f"at {len(slicing.table)} edges every {duration_text(slicing.period * MICROSECOND)}"
    return f"at the edges of {len(slicing.progressions)} progressions"
