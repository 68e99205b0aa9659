"""Everything that is decided for a set of registered queries: the network, and what is finished ahead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from weft.algebra.windows import micros
from weft.optimize.optimizer import Optimizer, finished_ahead
from weft.plan.cost import made_by_pass, node_amounts
from weft.plan.description import describe_network
from weft.plan.facts import Facts
from weft.plan.finish import Family, FinishedSource, plan_finishing
from weft.plan.match import LookedFor
from weft.plan.network import Network, build_network
from weft.plan.prices import DUCKDB, SPARK
from weft.registry.registered import Registered
from weft.store.ledger import LateReaders


@dataclass(frozen=True)
class Plan:
    """The plan for a version of the registry; of its queries only the meaning counts, their rows may be stale."""

    version: tuple[int, int]
    network: Network
    queries: Mapping[str, Registered]
    families: tuple[Family, ...]
    finished: Mapping[str, tuple[FinishedSource, ...]]

    def amounts(
        self, facts: Facts, kernel: str = SPARK, measured: Mapping[str, float] | None = None
    ) -> dict[str, dict[str, float]]:
        """Tell what each node asks of a tick by a kernel; the stream's own part is under the empty name."""
        made = self._made_by_pass if kernel == DUCKDB else None
        return node_amounts(self.network, facts, *finished_ahead(self.families), measured, kernel, made)

    @cached_property
    def _made_by_pass(self) -> dict[str, tuple[LookedFor, int]]:
        """What a pass looks for: every tick is priced, and thousands of predicates stay the same."""
        return made_by_pass(self.network)

    @cached_property
    def description(self) -> dict[str, Any]:
        """The plan as the catalog keeps it."""
        return describe_network(self.network)

    @cached_property
    def reach(self) -> Mapping[str, int | None]:
        """How far behind the watermark each node, and each family's finished windows, are read; None for ever."""
        reach: dict[str, int | None] = {}

        def read(what: str, upto: int | None) -> None:
            before = reach.get(what, 0)
            reach[what] = None if before is None or upto is None else max(before, upto)

        for name, query in self.queries.items():
            for needs in (query.needs, *(past.needs for past in query.pasts)):
                for part in needs.parts:
                    read(part.node, query.reach)
            for finished in self.finished.get(name, ()):
                read(finished.family, None if query.keep is None else micros(query.keep))
        return reach


def late_readers(queries: Mapping[str, Registered]) -> Mapping[str, LateReaders]:
    """Collect what queries ask of the counts of late rows of each node."""
    windows: dict[str, set[str]] = {}
    epochs: dict[str, set[int]] = {}
    reaches: dict[str, set[int | None]] = {}
    for query in queries.values():
        kinds = set(map(str, query.needs.window.as_sliced()))
        for needs in (query.needs, *(past.needs for past in query.pasts)) if kinds else ():
            for part in needs.parts:
                windows.setdefault(part.node, set()).update(kinds)
                since = (query.row.from_batch or 0, *(past.until for past in query.pasts))
                epochs.setdefault(part.node, set()).update(since)
                reaches.setdefault(part.node, set()).add(query.reach)
    return {
        node: LateReaders(frozenset(kinds), frozenset(epochs[node]), frozenset(reaches[node]))
        for node, kinds in windows.items()
    }


def make_plan(
    stream: str, version: tuple[int, int], queries: Mapping[str, Registered], optimizer: Optimizer, facts: Facts
) -> Plan:
    """Decide everything for these queries of a stream."""
    families, finished = plan_finishing({name: query.needs for name, query in queries.items() if query.eager})
    decision = optimizer.decide(queries, families, facts)
    pasts = {name: query.pasts for name, query in queries.items() if query.pasts}
    network = build_network(stream, {name: query.needs for name, query in queries.items()}, decision, pasts)
    return Plan(version, network, queries, families, finished)
