"""A registered query: its row in the catalog, its meaning, what it needs, and where its rows are and were kept.

Compiling a query is parsing and planning only: a pure function of its row, the streams and the aggregates. Its needs
are worked out when somebody asks for them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property

from weft.aggregates.catalog import AggregateCatalog
from weft.algebra.query import Query
from weft.backend.check import check_expressions
from weft.backend.render import duck_sql
from weft.plan.finish import lift
from weft.plan.needs import Needs, analyse
from weft.plan.network import Past
from weft.plan.placement import Placement
from weft.plan.shapes import Choice
from weft.segments.segment import EARLIEST
from weft.store.records import FAILED, QueryRow


@dataclass(frozen=True)
class Stay:
    """A time of a query's life under a placement: what it needed then, and which epochs of files belong to it."""

    needs: Needs
    since: int
    until: int | None


@dataclass(frozen=True)
class Registered:
    """A registered query: its row in the catalog, its meaning, and what it needs."""

    row: QueryRow
    query: Query
    aggregates: AggregateCatalog = field(default_factory=AggregateCatalog, repr=False, compare=False)

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def keep(self) -> timedelta | None:
        return self.row.definition.keep

    @property
    def eager(self) -> bool:
        return self.row.definition.eager

    @property
    def placement(self) -> Placement:
        return self.row.definition.placement

    @property
    def failed(self) -> bool:
        return self.row.status == FAILED

    @cached_property
    def needs(self) -> Needs:
        """What it needs under its present placement."""
        known: Choice | None = self.__dict__.get("choice")
        if known is not None and self.placement in _FORMS:
            wanted = known.forms[-1] if self.placement.matches else known.shards
            if self.placement.matches == (wanted.match is not None):
                return wanted
        return analyse(self.query, self.aggregates, self.placement)

    @cached_property
    def pasts(self) -> tuple[Past, ...]:
        """What it needed before it moved, oldest first, with the moment from which on no row of it lies there.

        The first is what kept rows are computed for, where it was registered late, also before they are.
        """
        return tuple(
            Past(analyse(self.query, self.aggregates, before.placement), before.until, before.moment)
            for before in self.row.definition.pasts
        )

    @property
    def settled_from(self) -> int:
        """Windows that start then or later are read from where the query is now, whatever moves there were."""
        pasts = self.row.definition.pasts
        return max((past.moment for past in pasts if not past.filling), default=EARLIEST)

    @property
    def filling(self) -> bool:
        """Whether rows of before its first batch are still to be computed from kept rows."""
        return self.row.definition.filling is not None

    @cached_property
    def choice(self) -> Choice:
        """The query as the optimizer sees it; its nodes are named as in the first tree, whichever it is in."""
        in_shards, in_matches = (
            self.needs if self.placement == form else analyse(self.query, self.aggregates, form)
            for form in _FORMS
        )
        has_forms = in_matches.match is not None and not in_matches.selects
        return Choice(in_shards, in_matches if has_forms else None, self.eager)

    @cached_property
    def stays(self) -> tuple[Stay, ...]:
        """The times of its life, oldest first: where its rows were kept, and where they are now."""
        pasts = self.pasts[1:] if self.filling else self.pasts
        needs = [*(past.needs for past in pasts), self.needs]
        moves = [0, *(past.until for past in pasts), None]
        return tuple(
            Stay(wanted, since or 0, until)
            for wanted, since, until in zip(needs, moves[:-1], moves[1:], strict=True)
        )

    @property
    def reach(self) -> int | None:
        """How far behind the watermark its rows are still needed, in microseconds; None for ever."""
        return self.query.block.window.reach(self.keep)

    def elsewhere(self, placement: Placement) -> Registered:
        """The query as it would be under another placement; nothing is kept."""
        return replace(self, row=replace(self.row, definition=replace(self.row.definition, placement=placement)))

    def with_row(self, row: QueryRow) -> Registered:
        """The query as another row of the same registration describes it; what is worked out is kept where it holds."""
        changed, before, now = replace(self, row=row), self.row.definition, row.definition
        moved = replace(before, placement=now.placement, pasts=now.pasts)
        kept = _WORKED_OUT if now == before else ("choice",) if now == moved else ()
        # A frozen dataclass keeps its cached properties in its dictionary.
        changed.__dict__.update({name: self.__dict__[name] for name in kept if name in self.__dict__})
        return changed


_WORKED_OUT = ("needs", "pasts", "choice", "stays")
# The placements by which the optimizer knows a query.
_FORMS = (Placement(), Placement(matches=True))


def check_readable(registered: Registered) -> None:
    """Refuse a query that could be registered and never be read, by writing the SQL that would read it."""
    check_expressions(registered.needs)
    condition, _ = lift(registered.needs.residue) if registered.eager else (None, ())
    if condition is not None:
        duck_sql(condition, {})  # as it is joined with its family's conditions: constants are columns there
