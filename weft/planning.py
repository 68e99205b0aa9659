"""Everything that is decided for a set of registered queries: network, Spark SQL, and what is finished ahead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from weft.plan.finish import Family, Finished, plan_finishing
from weft.plan.network import Decision, Network, build_network
from weft.plan.windows import micros
from weft.registry import Registered
from weft.spark.level0 import Statement, statements


@dataclass(frozen=True)
class Plan:
    """The plan for one version of the registry; of its queries only the meaning counts, their rows may be stale."""

    version: int
    network: Network
    statements: tuple[Statement, ...]
    queries: Mapping[str, Registered]
    families: tuple[Family, ...]
    finished: Mapping[str, tuple[Finished, ...]]

    @cached_property
    def reach(self) -> Mapping[str, int | None]:
        """How far behind the watermark each node, and each family's finished windows, are read; None for ever."""
        reach: dict[str, int | None] = {}

        def read(what: str, upto: int | None) -> None:
            before = reach.get(what, 0)
            reach[what] = None if before is None or upto is None else max(before, upto)

        for name, one in self.queries.items():
            for needs in (one.needs, *(past.needs for past in one.pasts)):
                for part in needs.parts:
                    read(part.node, one.reach)
            for place in self.finished.get(name, ()):
                read(place.family, None if one.keep is None else micros(one.keep))
        return reach


def epochs(queries: Mapping[str, Registered]) -> Mapping[str, tuple[int, ...]]:
    """The batches at which the readers of each node came."""
    found: dict[str, set[int]] = {}
    for one in queries.values():
        for needs in (one.needs, *(past.needs for past in one.pasts)):
            for part in needs.parts:
                moves = (past.until for past in one.pasts)
                found.setdefault(part.node, set()).update((one.row.from_batch or 0, *moves))
    return {node: tuple(sorted(batches)) for node, batches in found.items()}


def make_plan(
    stream: str, version: int, queries: Mapping[str, Registered], decision: Decision | None = None
) -> Plan:
    """Decide everything for these queries of a stream."""
    pasts = {name: one.pasts for name, one in queries.items() if one.pasts}
    network = build_network(stream, {name: one.needs for name, one in queries.items()}, decision, pasts)
    families, finished = plan_finishing({name: one.needs for name, one in queries.items() if one.eager})
    return Plan(version, network, statements(network), queries, families, finished)
