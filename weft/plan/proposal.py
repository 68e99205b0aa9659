"""What a query would cost beside those there are: what it shares, what it adds, before it is registered."""

from __future__ import annotations

from datetime import datetime

from weft.aggregates.statistics import ROW_COUNT
from weft.plan.bill import seconds_text
from weft.plan.bound import Bound
from weft.plan.explain import held_text, node_label, refusal_lines, slices_text
from weft.plan.needs import Needs
from weft.plan.network import Network

# Less than this is nothing, in seconds.
NOTHING = 1e-5


def explain_proposal(
    needs: Needs,
    before: Network,
    after: Network,
    complete_from: datetime | int | None,
    bound: Bound,
    seconds: tuple[float, float] | None = None,
) -> str:
    """The difference that the query makes: `before` is the network without it, `after` the one with it.

    `seconds` are those of a tick of both, as far as the stream ever ran.
    """
    lines = ["if it were registered", f"  window {needs.window.explained}"]
    for part in needs.parts:
        now, then = before.by_id.get(part.node), after.by_id[part.node]
        if now is not None:
            lines.append(f"  reads {node_label(then)}, which is there for {len(now.readers)} other queries")
            more = [one.spelled for one in then.statistics if one not in now.statistics and one != ROW_COUNT]
            if more:
                lines.append(f"    adds {', '.join(sorted(more))}")
        elif then.parent is not None:
            lines.append(f"  reads {node_label(then)}, new, made from {node_label(after.by_id[then.parent])}")
            lines.append("    no row of the stream is aggregated once more")
        else:
            lines.append(f"  reads {node_label(then)}, new, made from rows: one more grouping of every batch")
            lines += refusal_lines(after, part.node)
    was, becomes = (one.trees[needs.tree][0] if needs.tree in one.trees else None for one in (before, after))
    if was != becomes and needs.window.clock.sliced:
        lines.append(f"  slices {slices_text(becomes)} instead of slices {slices_text(was)}")
    cuts = _cuts(after) - _cuts(before)
    if cuts:
        lines.append(f"  {cuts} more cuts between the values that predicates compare with")
    if seconds is not None:
        without, beside = seconds
        longer = f"{seconds_text(beside - without)} longer" if beside - without > NOTHING else "no longer"
        lines.append(f"  a tick of about {seconds_text(without)} would take {longer}")
    lines += [f"  would hold {held_text(complete_from)}", f"  state: {bound}"]
    return "\n".join(lines)


def _cuts(network: Network) -> int:
    return sum(len(points) for _, points in network.cuts)
