"""What a tick teaches about its stream: how many groups its partial rows have, and how many rows matches keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from weft.backend.interface import Backend, Rows
from weft.plan.facts import Facts, Names, is_truth, truth_kinds
from weft.plan.network import Network, Node
from weft.store.derive import NewRows
from weft.store.state import StreamState

# Every tick teaches rows and pace; groups change slowly, so they are counted at first and then now and then.
FIRST_TICKS, EVERY = 3, 8


def facts_of(state: StreamState) -> Facts:
    """Return the facts that were learned up to this state."""
    learned = state.totals.get("learned")
    return Facts() if learned is None else Facts.from_definition(learned)


@dataclass(frozen=True)
class Lesson:
    """What a tick taught: the facts of all ticks with it, and the facts of the tick alone."""

    facts: Facts
    tick: Facts


def learn(
    state: StreamState,
    network: Network,
    new: NewRows,
    rows: int,
    newest: int | None,
    backend: Backend,
    files: int = 0,
) -> Lesson:
    """Learn the facts of a tick; `files` are those that a pass read."""
    known = facts_of(state)
    fresh = any(_names(node) not in known.groups for node in network.base)
    due = known.ticks < FIRST_TICKS or known.ticks % EVERY == 0 or fresh
    seen = _seen(network, new.rows, backend) if due and rows else {}
    span = _span(state, network, new, newest)
    kept = _kept(network, new.rows, rows, backend) if due and rows else None
    facts = known.learned(rows, span, seen, files, kept)
    return Lesson(facts, replace(facts, rows=rows, span=max(1, span), files=files))


def _kept(network: Network, new: Mapping[str, Rows], rows: int, backend: Backend) -> float | None:
    """Tell how many rows matches kept over what is guessed of them; None without matches."""
    matched = [node for node in network.base if node.matches]
    guessed = rows * sum(network.looked_for[str(node.matches)].kept for node in matched)
    return max(1, sum(backend.count(new[node.id]) for node in matched)) / guessed if guessed else None


def _span(state: StreamState, network: Network, new: NewRows, newest: int | None) -> int:
    """Tell by how much event time went on with the tick."""
    if newest is None:
        return 0
    before = state.max_event_time
    if before is None:
        before = _first_row(network, new)
    if before is None:
        return 0
    return max(0, newest - before)


def _first_row(network: Network, new: NewRows) -> int | None:
    """Tell about when the first row of a tick came, by the slices that it is in."""
    sliced = [node for node in network.base if node.clock.sliced]
    starts = {node: new.rows[node.id].least for node in sliced}
    # Where a node holds every row, its first slice begins no later than the first row: the latest of these is nearest.
    whole = [start for node in sliced if not node.matches and (start := starts[node]) is not None]
    return max(whole) if whole else min((start for start in starts.values() if start is not None), default=None)


def _seen(network: Network, rows: Mapping[str, Rows], backend: Backend) -> dict[Names, float]:
    """Count the groups of each base node, and the values of each of its dimensions, in the tick."""
    seen: dict[Names, float] = {}
    for node in network.base:
        partial_rows = rows[node.id]
        names = [dimension.name for dimension in node.dimensions]
        if not names or not partial_rows.count:
            continue
        truths = [dimension.name for dimension in node.dimensions if is_truth(dimension)]
        values = [name for name in names if name not in truths]
        kinds = backend.kinds(partial_rows, values, truths)
        seen |= {frozenset({name}): count for name, count in kinds.values.items()}
        seen |= {frozenset({name}): truth_kinds(share) for name, share in kinds.shares.items()}
        seen[_names(node)] = min(kinds.groups, partial_rows.count) if node.clock.sliced else float(partial_rows.count)
    return seen


def _names(node: Node) -> Names:
    return frozenset(dimension.name for dimension in node.dimensions)
