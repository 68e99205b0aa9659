"""A registered query: its row in the catalog, its meaning, what it needs, and where its rows are and were kept."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property

from weft.aggregates.catalog import AggregateCatalog
from weft.plan.needs import Needs, analyse
from weft.plan.network import Past
from weft.plan.placement import AT_HOME, Placement
from weft.plan.search import Choice
from weft.plan.windows import micros
from weft.read.reader import Step
from weft.read.view import View, build_view
from weft.sql.query import Query
from weft.store.tables import EARLIEST, QueryRow


@dataclass(frozen=True)
class Registered:
    """A registered query: its row in the catalog, its meaning, and what it needs."""

    row: QueryRow
    query: Query
    needs: Needs
    keep: timedelta | None
    eager: bool = False
    aggregates: AggregateCatalog = field(default_factory=AggregateCatalog, repr=False, compare=False)
    placement: Placement = AT_HOME
    # What it needed before it moved, oldest first, with the moment from which on no row of it is there.
    pasts: tuple[Past, ...] = ()

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def settled_from(self) -> int:
        """Windows that start then or later are read from one place, whatever moves there were."""
        return max((past.moment for past in self.pasts), default=EARLIEST)

    @cached_property
    def choice(self) -> Choice:
        """The query as the optimizer sees it."""
        shards, truths = (
            self.needs if self.placement.truths == form else analyse(self.query, self.aggregates, Placement("", form))
            for form in (False, True)
        )
        same = [part.dimensions for part in shards.parts] == [part.dimensions for part in truths.parts]
        return Choice(shards, None if same else truths, self.eager)

    @cached_property
    def view(self) -> View:
        return build_view(self.needs)

    @cached_property
    def filtered_view(self) -> View:
        """The view over rows that its predicate was applied to already."""
        return build_view(replace(self.needs, residue=None))

    @cached_property
    def changes_view(self) -> View:
        return build_view(self.needs, changes=True)

    @cached_property
    def filtered_changes_view(self) -> View:
        return build_view(replace(self.needs, residue=None), changes=True)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The times of its life, oldest first: where its rows were kept, and where they are now."""
        needs = [*(past.needs for past in self.pasts), self.needs]
        moves = [0, *(past.until for past in self.pasts), None]
        return tuple(
            Step(one, build_view(one), since or 0, until)
            for one, since, until in zip(needs, moves[:-1], moves[1:], strict=True)
        )

    @property
    def reach(self) -> int | None:
        """How far behind the watermark its rows are still needed, in microseconds; None for ever."""
        if self.keep is None or self.needs.window is None:
            return None
        return micros(self.keep) + micros(self.needs.window.range)
