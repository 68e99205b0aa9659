"""The planners of all streams, and what their plans say of themselves: networks, bills, proposals."""

from __future__ import annotations

import threading

from weft.errors import EngineError
from weft.feeds.retention import FOREVER, NEVER
from weft.optimize.learn import facts_of
from weft.optimize.planner import Planner
from weft.optimize.policy import Policy
from weft.plan.bill import Bill, bill_of
from weft.plan.bound import bound_of
from weft.plan.cost import add
from weft.plan.explain import explain_network
from weft.plan.picture import FORMS, graphviz, mermaid
from weft.plan.proposal import explain_proposal
from weft.read.answers import complete_since
from weft.read.moments import datetime_of
from weft.read.state_reader import StateReader
from weft.registry.registry import Registry
from weft.segments.segment import EARLIEST
from weft.store.catalog import Catalog
from weft.store.kept import KeptRows


class Planners:
    """The planner of every stream, made when somebody first asks for it; safe to use from several threads."""

    def __init__(self, registry: Registry, catalog: Catalog, states: StateReader, policy: Policy) -> None:
        self._registry, self._catalog, self._states, self._policy = registry, catalog, states, policy
        self._planners: dict[str, Planner] = {}
        self._lock = threading.RLock()

    def of(self, stream: str) -> Planner:
        """The planner of a stream."""
        with self._lock:
            if stream not in self._planners:
                committed = self._states.committed(stream)
                committed.reload(self._registry.follow)
                self._planners[stream] = Planner(
                    self._registry.stream(stream), self._registry, self._catalog, committed, self._policy
                )
            return self._planners[stream]

    def bill(self, stream: str) -> Bill | None:
        """What each node of a stream costs a tick, and each query; None for a stream that never ran."""
        planner = self.of(stream)
        facts = facts_of(self._states.state_of(stream))
        if not facts.ticks:
            return None
        plan = planner.plan()
        kernel = planner.optimizer.kernel(plan.network, facts)
        return bill_of(plan.network, plan.amounts(facts, kernel), planner.optimizer.costs, kernel)

    def explain(self, sql: str | None, form: str) -> str:
        """The networks of all streams in a form; of a query that is not registered, its proposal."""
        if form not in FORMS:
            raise EngineError("bad-form", f"there is no form {form!r}", hint=f"Use one of {', '.join(FORMS)}.")
        if sql is not None:
            return self._explain_proposal(sql)
        names = sorted(self._registry.streams())
        if form == "text":
            return "\n".join(self._explain_stream(name) for name in names)
        draw = {"mermaid": mermaid, "graphviz": graphviz}[form]
        return "\n".join(draw(self.of(name).plan().network) for name in names)

    def _explain_stream(self, name: str) -> str:
        searched = self.of(name).optimizer.last
        others = {}
        if searched is not None:
            others = {"if all were shared": searched.result.everything, "if nothing were": searched.result.nothing}
        kept = kept_text(self._registry.stream(name).retain, self._states.state_of(name).kept)
        return explain_network(self.of(name).plan().network, self.bill(name), others, kept)

    def _explain_proposal(self, sql: str) -> str:
        """What a query that is not registered would share, and what it would add."""
        proposed = self._registry.preview(sql)
        state, planner = self._states.state_of(proposed.row.stream), self.of(proposed.row.stream)
        before, after = planner.propose(proposed)
        facts, costs = facts_of(state), planner.optimizer.costs
        seconds = None
        if facts.ticks:
            kernel = planner.optimizer.kernel
            now, then = (
                costs.price(add(plan.amounts(facts, kernel(plan.network, facts)).values())) for plan in (before, after)
            )
            seconds = (now, then)
        needs = after.queries[proposed.name].needs
        bound = bound_of(needs, proposed.keep, self._registry.feed(proposed.query.block.feed).delay)
        return explain_proposal(needs, before.network, after.network, complete_since(proposed, state), bound, seconds)


def kept_text(retain: str | None, kept: KeptRows) -> str:
    """What is kept of a stream's rows, in words; nothing where nothing is said and nothing is there.

    >>> kept_text("2 hours", KeptRows())
    'keeps rows for 2 hours: none yet'
    """
    if retain is None and kept.node is None:
        return ""
    if retain == NEVER:
        return "keeps no rows, which retain='never' forbids"
    span = FOREVER if retain in (None, FOREVER) else f"for {retain}"
    if not kept.files:
        return f"keeps rows {span}: none yet"
    whole = "all that came" if kept.since == EARLIEST else f"all from {datetime_of(kept.since).isoformat()} on"
    return f"keeps rows {span}: {kept.rows:,} rows, {kept.bytes:,} bytes in {len(kept.files)} files, {whole}"
