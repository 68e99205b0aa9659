"""What a tick teaches of its stream: how many groups there are, by sketches over the partial rows that it made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from weft.aggregates.statistics import ROW_COUNT
from weft.backend.interface import Backend, Rows, Selection, Source
from weft.backend.merge import duck_identifier
from weft.plan.facts import Facts, Names, is_truth, truth_kinds
from weft.plan.network import Network, Node
from weft.store.derive import NewRows
from weft.store.state import StreamState

VALUE_KINDS = "approx_count_distinct({0}) + max(CAST({0} IS NULL AS INT))"
TRUE_SHARE = f"coalesce(sum({ROW_COUNT.name}) FILTER (WHERE {{0}}) / sum({ROW_COUNT.name}), 0)"
# Every tick teaches rows and pace; groups change slowly, so they are counted at first and then now and then.
FIRST_TICKS, EVERY = 3, 8


def facts_of(state: StreamState) -> Facts:
    """What was learned up to this state."""
    kept = state.totals.get("learned")
    return Facts() if kept is None else Facts.from_definition(kept)


@dataclass(frozen=True)
class Lesson:
    """The facts with one more tick, and what they were in this very tick."""

    facts: Facts
    tick: Facts


def learn(
    state: StreamState, network: Network, new: NewRows, rows: int, newest: int | None, backend: Backend
) -> Lesson:
    """What a tick teaches."""
    known = facts_of(state)
    fresh = any(_names(node) not in known.groups for node in network.base)
    due = known.ticks < FIRST_TICKS or known.ticks % EVERY == 0 or fresh
    seen = _seen(network, new.rows, backend) if due and rows else {}
    span = _span(state, network, new, newest)
    facts = known.learned(rows, span, seen)
    return Lesson(facts, replace(facts, rows=rows, span=max(1, span)))


def _span(state: StreamState, network: Network, new: NewRows, newest: int | None) -> int:
    """By how much event time went on."""
    if newest is None:
        return 0
    before = state.max_event_time
    if before is None:
        starts = [new.rows[node.id].least for node in network.base if node.clock.sliced]
        before = min((start for start in starts if start is not None), default=newest)
    return max(0, newest - before)


def _seen(network: Network, rows: Mapping[str, Rows], backend: Backend) -> dict[Names, float]:
    """How many groups of each base node, and values of each of its dimensions, this tick had."""
    seen: dict[Names, float] = {}
    for node in network.base:
        mine = rows[node.id]
        names = [one.name for one in node.dimensions]
        if not names or not mine.count:
            continue
        quotes, truths = [duck_identifier(name) for name in names], [is_truth(one) for one in node.dimensions]
        columns = [
            (TRUE_SHARE if truth else VALUE_KINDS).format(name) for truth, name in zip(truths, quotes, strict=True)
        ]
        every = f"approx_count_distinct(hash({', '.join(quotes)}))"
        selection = Selection((Source((mine,)),), (*names, ROW_COUNT.name))
        *each, groups = map(float, backend.measure(selection, [*columns, every]))
        for name, truth, count in zip(names, truths, each, strict=True):
            seen[frozenset({name})] = truth_kinds(count) if truth else count
        seen[_names(node)] = min(groups, mine.count) if node.clock.sliced else float(mine.count)
    return seen


def _names(node: Node) -> Names:
    return frozenset(one.name for one in node.dimensions)
