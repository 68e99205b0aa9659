"""The planner of a feed: the plan for the queries that are registered now, made once for each set of them.

Needs no Spark and no tick: whoever explains a network plans it in the same way as the tick that runs it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from weft.failpoint import failpoint
from weft.feeds.feed import Feed
from weft.feeds.streams import Stream
from weft.optimize.learn import facts_of
from weft.optimize.optimizer import Optimizer
from weft.optimize.planning import Plan, make_plan
from weft.optimize.policy import Policy
from weft.plan.placement import Placement
from weft.plan.prices import Costs
from weft.plan.search import SearchResult
from weft.read.answers import whole_from
from weft.registry.changes import elsewhere, forgotten, moves, to_be_filled
from weft.registry.registered import Registered
from weft.registry.registry import Registry
from weft.segments.segment import EARLIEST
from weft.store.catalog import Catalog
from weft.store.committed import CommittedState
from weft.store.ledger import horizon
from weft.store.state import StreamState


class Planner:
    """Plans a feed; safe to use from several threads."""

    def __init__(
        self, feed: Feed, registry: Registry, catalog: Catalog, committed: CommittedState, policy: Policy | None = None
    ) -> None:
        self.feed = feed
        self._registry, self._committed = registry, committed
        # A tick, a search and a move of queries take turns; a tick moves queries itself.
        self.turn, self._planning = threading.RLock(), threading.Lock()
        self._plan: Plan | None = None
        of_files = isinstance(feed, Stream) and (feed.source or "").lower() == "parquet"
        with catalog.read() as snapshot:
            costs = Costs.from_definition(snapshot.costs())
        self.optimizer = Optimizer(feed.name, policy or Policy(), costs, of_files=of_files)

    @property
    def last(self) -> Plan | None:
        """The plan that was made last in this process, if any was."""
        return self._plan

    @property
    def state(self) -> StreamState:
        return self._committed.current

    def numbers(self) -> dict[str, Any]:
        """The plan in numbers, and how it was chosen, as far as this process knows."""
        searched, plan = self.optimizer.last, self._plan
        made = {} if plan is None else {"trees": len(plan.network.trees), "from_rows": len(plan.network.base)}
        prices = {} if searched is None else searched.result.prices
        return {**made, **{name: round(price, 4) for name, price in prices.items()}}

    def queries(self) -> dict[str, Registered]:
        """The feed's queries that have not failed, as they are registered now."""
        return self._registry.queries(self.feed.name, failed=False)

    def plan(self) -> Plan:
        """The plan for the queries that are registered now."""
        # A single thread plans at a time: a plan that was begun before the queries changed must not be a tick's.
        with self._planning:
            version = (self._registry.version(self.feed.name), self.optimizer.generation)
            if self._plan is None or self._plan.version != version:
                facts = facts_of(self.state)
                self._plan = make_plan(self.feed.name, version, self.queries(), self.optimizer, facts)
            return self._plan

    def propose(self, query: Registered) -> tuple[Plan, Plan]:
        """The plan as it is, and as it would be with another query."""
        facts, queries = facts_of(self.state), self.queries()
        moved = self.optimizer.place({**queries, query.name: query}, facts, query.name)
        placed = query.elsewhere(moved) if moved is not None else query
        before, after = (
            make_plan(self.feed.name, (0, 0), chosen, self.optimizer, facts)
            for chosen in (queries, {**queries, query.name: placed})
        )
        return before, after

    def optimize(self) -> SearchResult:
        """Search for a better plan now; the next tick follows it if that is worth a move."""
        with self.turn:
            result, placements = self.optimizer.optimize(self.queries(), facts_of(self.state))
            self.place(placements)
        return result

    def move_what_should(self) -> None:
        """Let go of placements that nothing is left of, and move the queries that the optimizer wants elsewhere."""
        self._forget_pasts()
        self.place(self.optimizer.moves(self.queries(), facts_of(self.state)))

    def place(self, placements: Mapping[str, Placement]) -> None:
        """Move queries: the next tick keeps their rows elsewhere, and what is stored stays where it is."""
        with self.turn:
            rows = {name: query.row for name, query in self._registry.queries(self.feed.name).items()}
            if elsewhere(rows, placements):
                self._registry.change(moves(self.feed.name, placements), "place-inside")
                failpoint("place-after")

    def begin_fillings(self) -> None:
        """Have new queries filled from kept rows that hold more of the past for them than any node does.

        Totals are filled only where all rows are kept that ever came. Selections are not: of the time before they came
        they answer from kept rows.
        """
        state = self.state
        if not state.kept.files:
            return
        first, batch = state.kept.since, state.batch_id + 1
        due = [
            name
            for name, query in self.queries().items()
            if query.row.from_batch is None
            and (query.row.definition.filling is None or query.row.definition.filling.until != batch)
            and (query.needs.window.clock.sliced or first == EARLIEST)
            and not query.needs.selects
            and whole_from(query, state) > first
        ]
        if due:
            moment = EARLIEST if state.max_event_time is None else state.max_event_time + 1
            self._registry.change(to_be_filled(due, batch, moment), "fill-planned")

    def _forget_pasts(self) -> None:
        """Let go of what moved queries read before, once the last file of it is gone, and no late row of it counts."""
        gone: dict[str, int] = {}
        for name, query in self.queries().items():
            # What is still to be computed from kept rows has no files yet.
            for past, stay in zip(query.pasts, query.stays, strict=False) if not query.filling else ():
                nodes = [self.state.synopses.get(part.node) for part in stay.needs.parts]
                if any(node and self.state.within(node, stay.since, stay.until).data for node in nodes):
                    break
                if query.needs.window.clock.sliced and horizon(self.state.watermark, query.reach) < past.moment:
                    break
                if stay.until is not None:
                    gone[name] = stay.until
        if gone:
            self._registry.change(forgotten(gone), "place-inside")
