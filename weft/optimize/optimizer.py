"""The optimizer at work on a stream: new queries are placed at once, and all queries better in the background.

The search itself is pure (weft/plan/search.py). Here it is decided when to search, and whether its result is worth
a move: a plan is only left for a plan that saves enough, and a stream that never ran is not guessed about.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping

from weft.algebra.windows import Clock, Sliced
from weft.optimize.policy import Policy
from weft.optimize.searched import Searched, search_for, searched, searched_on
from weft.plan.candidates import apart
from weft.plan.cost import cheaper_kernel
from weft.plan.decide import Draft, decider_for
from weft.plan.facts import Facts
from weft.plan.finer import Dimensions
from weft.plan.finish import Family
from weft.plan.needs import node_id
from weft.plan.network import Decision, Network, collect
from weft.plan.placement import Placement
from weft.plan.prices import Costs
from weft.plan.search import Budget, SearchResult
from weft.plan.shapes import likeness
from weft.registry.registered import Registered

log = logging.getLogger("weft.plan")

# A move costs a compilation on Spark and keeps two placements readable for a while: it must save this share of a tick.
LEAST_SAVED_SHARE = 0.1
# A query that moved so often, and still reads what it left each time, stays where it is.
MOST_PASTS = 8
# A quick look takes so many seconds at most, for so many queries at most, and is a glance for more; as it sees little,
# what it finds must save this share of a tick.
QUICK_SECONDS, MOST_LOOKED_AT, LEAST_SAVED_BY_A_LOOK = 0.1, 3_000, 0.5
# Somebody may end the process of searches, for its memory say: once so many in a row were lost, none is begun again.
MOST_LOST = 3
# A search that somebody asked for may take longer.
ASKED_SECONDS = 10.0


class Optimizer:
    """Places the queries of a stream. Its methods are called by a single thread at a time; searches run beside."""

    def __init__(self, stream: str, policy: Policy, costs: Costs, *, of_files: bool = False) -> None:
        self._stream, self._sharing, self._kernel = stream, policy.sharing, policy.kernel
        # Whether a pass reads the stream's files by itself.
        self._of_files = of_files
        # The prices as they were measured, and as plans are made by them.
        self.measured, self.costs = costs, costs.over_files() if of_files else costs
        self._thread: threading.Thread | None = None
        self._done: Searched | None = None
        self.last: Searched | None = None
        # Grows with every search that is done: what was decided before it may be decided otherwise now.
        self.generation = 0
        self._given_up: frozenset[str] = frozenset()
        self._lost = 0
        self._looked_at: frozenset[str] = frozenset()

    def moves(self, queries: Mapping[str, Registered], facts: Facts) -> dict[str, Placement]:
        """The queries that should move, with their new placements; starts a search where a search is due."""
        if self._sharing == "everything":
            return _different(queries, {name: Placement() for name in queries})
        if self._sharing == "nothing":
            return _different(queries, apart({name: query.choice for name, query in queries.items()}))
        if not facts.ticks:
            # Facts are only assumed: enough to see that predicates have nothing in common, and not to search on.
            return self._look(queries, facts)
        moves = self._take(queries)
        if not moves and self.last is None:
            moves = self._look(queries, facts)
        if not moves:
            fresh = [name for name, query in queries.items() if query.row.from_batch is None]
            if fresh and self.last is not None:
                moves = _different(queries, self._place_fresh(queries, fresh, facts))
        self._search_beside(queries, facts, moves)
        return moves

    def _look(self, queries: Mapping[str, Registered], facts: Facts) -> dict[str, Placement]:
        """Place queries that nobody placed so far by a quick look, until a search is done."""
        unplaced = all(query.placement == Placement() and not query.pasts for query in queries.values())
        if not queries or not unplaced or self._looked_at == frozenset(queries):
            return {}
        self._looked_at = frozenset(queries)
        search = search_for(queries, facts, self._prices)
        few = len(queries) <= MOST_LOOKED_AT
        result = search.quick(None, Budget(time.monotonic, QUICK_SECONDS)) if few else search.glance()
        if result is None or result.price > (1 - LEAST_SAVED_BY_A_LOOK) * result.everything:
            return {}
        return self._told(_different(queries, result.placements), result.price, result.everything)

    def _place_fresh(
        self, queries: Mapping[str, Registered], fresh: list[str], facts: Facts
    ) -> dict[str, Placement]:
        """Place new queries where their like is; only for a query that is like no other is anything priced."""
        settled = _placements(queries, set(fresh))
        known = {likeness(queries[name].choice): placement for name, placement in settled.items()}
        placed = {name: known[key] for name in fresh if (key := likeness(queries[name].choice)) in known}
        unlike = [name for name in fresh if name not in placed]
        if unlike:
            search, budget = search_for(queries, facts, self._prices), Budget(time.monotonic, QUICK_SECONDS)
            placed |= search.place(unlike, {**settled, **placed}, budget)
        return placed

    def optimize(self, queries: Mapping[str, Registered], facts: Facts) -> tuple[SearchResult, dict[str, Placement]]:
        """Search now; the result, and the moves that are worth it."""
        done = searched(queries, facts, self._prices, _placements(queries, set()), ASKED_SECONDS)
        if self._sharing != "auto" or not facts.ticks:
            return done.result, {}
        self._done = done
        return done.result, self._take(queries)

    def place(self, queries: Mapping[str, Registered], facts: Facts, name: str) -> Placement | None:
        """The placement that a new query among these would get; None where all queries are placed alike."""
        if self._sharing != "auto" or self.last is None:
            return None
        return search_for(queries, facts, self._prices).place([name], _placements(queries, {name}))[name]

    def decide(self, queries: Mapping[str, Registered], families: tuple[Family, ...], facts: Facts) -> Decision | None:
        """What is computed from what; None to share all that can be shared."""
        if self._sharing == "nothing":
            return Decision({})
        if self._sharing == "everything" or not facts.ticks:
            return None
        needs = {name: query.needs for name, query in queries.items()}
        wanted = collect(needs)
        eager, often = finished_ahead(families)
        decider = decider_for((node.dimensions for node in wanted.values()), needs.values(), facts, self._prices)
        draft = Draft(wanted, eager, often)

        def name(dimensions: Dimensions, clock: Clock, tree: str) -> str:
            return node_id(self._stream, dimensions, clock=clock, tree=tree)

        return decider.decide(draft, name)

    def kernel(self, network: Network, facts: Facts) -> str:
        """The kernel that computes a network's base nodes from the rows of a tick."""
        return cheaper_kernel(network, facts, self.costs) if self._kernel == "auto" else self._kernel

    @property
    def _prices(self) -> Costs:
        """The prices that plans are made by: a kernel that nobody may use never pays."""
        return self.costs if self._kernel == "auto" else self.costs.for_kernel(self._kernel)

    def _take(self, queries: Mapping[str, Registered]) -> dict[str, Placement]:
        """The moves of the search that is done, if they are worth it and the queries are still the same."""
        done, self._done = self._done, None
        if done is None:
            return {}
        went_on = done.turns > 1
        self.last = done
        moves = _different(queries, {name: done.result.placements[name] for name in queries if name in done.queries})
        if not moves or done.result.price > (1 - LEAST_SAVED_SHARE) * done.now:
            moves = {}
        # What is computed from what is decided anew by the facts of a new search.
        self.generation += bool(moves) or not went_on
        return self._told(moves, done.result.price, done.now)

    def _told(self, moves: dict[str, Placement], price: float, before: float) -> dict[str, Placement]:
        if moves:
            saved = {"stream": self._stream, "moves": len(moves), "seconds": price, "before": before}
            log.info("queries move", extra=saved)
        return moves

    def _search_beside(
        self, queries: Mapping[str, Registered], facts: Facts, moves: Mapping[str, Placement] | None = None
    ) -> None:
        """Search in the background when the last search was for other queries or facts, or had too little time."""
        if self._thread is not None and self._thread.is_alive():
            return
        last = self.last
        before = last if last is not None and last.holds_for(queries, facts, self._prices) else None
        if before is not None and not before.goes_on(queries):
            return
        if not queries or self._given_up == frozenset(queries):
            return

        def run() -> None:
            try:
                self._done = self._run(queries, facts, moves or {}, before)
                self._lost = 0
            except ConnectionError as error:
                log.warning("search lost", extra={"stream": self._stream, "error": str(error)})
                self._lost += 1
                if self._lost >= MOST_LOST:
                    self._given_up, self._lost = frozenset(queries), 0
            except Exception:
                # A plan is there already; a better plan is not worth a stream.
                log.exception("plan not searched", extra={"stream": self._stream})
                self._given_up = frozenset(queries)

        self._thread = threading.Thread(target=run, name=f"weft plan {self._stream}", daemon=True)
        self._thread.start()

    def take_prices(self, costs: Costs) -> None:
        """Go on with other prices, as after a calibration: what was decided with the old prices is decided again."""
        if costs != self.measured:
            self.measured, self.costs = costs, costs.over_files() if self._of_files else costs
            self.generation += 1
            self._given_up = frozenset()
            log.info("prices changed", extra={"stream": self._stream})

    def wait(self) -> None:
        """Wait for the search in the background, if any runs."""
        if self._thread is not None:
            self._thread.join()

    def _run(
        self,
        queries: Mapping[str, Registered],
        facts: Facts,
        moves: Mapping[str, Placement],
        before: Searched | None,
    ) -> Searched:
        """Search from where the queries will be after these moves; or go on with the search before."""
        now = {**_placements(queries, set()), **moves}
        return searched(queries, facts, self._prices, now) if before is None else searched_on(before, queries, now)


def finished_ahead(families: Iterable[Family]) -> tuple[dict[str, set[Sliced]], dict[str, int]]:
    """The windows that are finished ahead by node, and in how many families."""
    eager: dict[str, set[Sliced]] = {}
    often: dict[str, int] = {}
    for family in families:
        eager.setdefault(family.node, set()).update(request.window for request in family.requests)
        often[family.node] = often.get(family.node, 0) + 1
    return eager, often


def _placements(queries: Mapping[str, Registered], without: set[str]) -> dict[str, Placement]:
    return {name: query.placement for name, query in queries.items() if name not in without}


def _different(queries: Mapping[str, Registered], placements: Mapping[str, Placement]) -> dict[str, Placement]:
    """The placements that are not in force, as far as the window of a query has a choice."""
    moves = {}
    for name, placement in placements.items():
        query = queries[name]
        wanted = placement.of(query.needs.window)
        if wanted != query.placement and len(query.pasts) < MOST_PASTS:
            moves[name] = wanted
    return moves
