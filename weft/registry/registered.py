"""A registered query: its row in the catalog, its meaning, what it needs, and where its rows are and were kept.

Compiling one is parsing and planning only: a pure function of its row, the streams and the aggregates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import Any

from weft.aggregates.catalog import AggregateCatalog
from weft.algebra.query import Query, StreamSchema
from weft.algebra.windows import duration_text, micros
from weft.backend.render import duck_sql
from weft.errors import EngineError
from weft.plan.finish import lift
from weft.plan.needs import Needs, analyse
from weft.plan.network import Past
from weft.plan.placement import AT_HOME, Moved, Placement
from weft.plan.search import Choice
from weft.read.reader import Step
from weft.read.view import View, build_view, check_view
from weft.segments.segment import EARLIEST
from weft.sql.bind import compile_query
from weft.sql.ddl import parse_duration
from weft.store.tables import QueryRow


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
            Step(one, since or 0, until)
            for one, since, until in zip(needs, moves[:-1], moves[1:], strict=True)
        )

    def elsewhere(self, placement: Placement) -> Registered:
        """The query as it would be in another place; nothing is kept."""
        definition = {**self.row.definition, **placement.definition()}
        return placed(replace(self, row=replace(self.row, definition=definition)))

    @property
    def reach(self) -> int | None:
        """How far behind the watermark its rows are still needed, in microseconds; None for ever."""
        if self.keep is None or self.needs.window is None:
            return None
        return micros(self.keep) + micros(self.needs.window.range)


def compiled(row: QueryRow, streams: Mapping[str, StreamSchema], aggregates: AggregateCatalog) -> Registered:
    """The query that a row of the catalog describes."""
    query = compile_query(row.sql, streams, aggregates)
    row = replace(row, stream=query.stream)
    keep = keep_of(row.definition["keep"])
    return placed(Registered(row, query, analyse(query, aggregates), keep, row.definition["eager"], aggregates))


def check_readable(one: Registered) -> None:
    """Refuse a query that could be registered and never be read: what reads it is written down for a try."""
    check_view(one.needs)
    condition, _ = lift(one.needs.residue) if one.eager else (None, ())
    if condition is not None:
        duck_sql(condition, {})  # as it is joined with those of its family: constants are columns there


def placed(one: Registered) -> Registered:
    """The query with what it needs where its definition says that it is, and was."""
    definition = one.row.definition
    placement = Placement.from_definition(definition)
    pasts = []
    for kept in definition.get("pasts", ()):
        before = Moved.from_definition(kept)
        pasts.append(Past(analyse(one.query, one.aggregates, before.placement), before.until, before.moment))
    needs = one.needs if placement == one.placement else analyse(one.query, one.aggregates, placement)
    return replace(one, needs=needs, placement=placement, pasts=tuple(pasts))


def moved(one: Registered, placement: Placement, batch: int, moment: int) -> dict[str, Any]:
    """The definition of a query that moves with a batch; `moment` is one that no row of earlier batches has reached.

    One that moved with this very batch already has no row where it is: it moves from where it was before that.
    """
    definition = one.row.definition
    pasts = list(definition.get("pasts", ()))
    if one.row.from_batch is not None and placement != one.placement:
        if not pasts or pasts[-1]["until"] != batch:
            pasts.append(Moved(one.placement, batch, moment).definition())
        elif Placement.from_definition(pasts[-1]) == placement:
            # It never left.
            pasts.pop()
    kept: dict[str, Any] = {key: definition[key] for key in ("keep", "eager", "mark") if key in definition}
    return {**kept, **placement.definition(), **({"pasts": pasts} if pasts else {})}


def keep_of(text: str) -> timedelta | None:
    """How long windows are kept; None for ever."""
    if text == "forever":
        return None
    keep = parse_duration(text)
    if keep < timedelta(0):
        raise EngineError("bad-keep", f"keep={text!r} is negative", hint="Say '7 days', or 'forever'.")
    return keep


def keep_text(keep: timedelta | None) -> str:
    return "forever" if keep is None else duration_text(keep)
