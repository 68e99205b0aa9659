"""The definition of a registered query: what was said when it was registered, and where its rows are and were kept.

The catalog keeps it as JSON. Reading it back is strict: a key or a type that was never written is damage, and is told
as such instead of being taken for a default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from typing import Any

from weft.algebra.windows import duration_text
from weft.errors import EngineError, SqlError
from weft.plan.placement import AT_HOME, FILLED, Moved, Placement
from weft.sql.ddl import Duration, parse_duration

FOREVER = "forever"
_KINDS: Mapping[str, type] = {
    "keep": str, "eager": bool, "mark": str, "tree": str, "matches": bool, "truths": bool, "pasts": list
}


@dataclass(frozen=True)
class QueryDefinition:
    """How a query was registered, and its placements.

    keep: how long closed windows stay readable, None for ever. mark: what tells a registration from another under the
    same name, empty in catalogs from before there were marks. pasts: the placements that it had, oldest first.
    """

    keep: timedelta | None = None
    eager: bool = False
    mark: str = ""
    placement: Placement = AT_HOME
    pasts: tuple[Moved, ...] = ()

    @property
    def keep_text(self) -> str:
        return FOREVER if self.keep is None else duration_text(self.keep)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values, always in the same order, without what has its default."""
        return {
            "keep": self.keep_text,
            "eager": self.eager,
            **({"mark": self.mark} if self.mark else {}),
            **self.placement.definition(),
            **({"pasts": [past.definition() for past in self.pasts]} if self.pasts else {}),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> QueryDefinition:
        if not isinstance(stored, dict):
            raise ValueError(f"{str(stored)[:60]!r} is no definition of a query")
        for key, value in stored.items():
            if key not in _KINDS or not isinstance(value, _KINDS[key]):
                raise ValueError(f"{key!r} with {str(value)[:60]!r} is no part of a query's definition")
        if "keep" not in stored or "eager" not in stored:
            raise ValueError("the definition of a query says neither how long it is kept nor how it is finished")
        try:
            pasts = tuple(Moved.from_definition(past) for past in stored.get("pasts", ()))
            keep = parse_keep(stored["keep"])
        except (SqlError, EngineError, KeyError) as error:
            raise ValueError(f"the definition of a query cannot be read: {error}") from error
        return cls(keep, stored["eager"], stored.get("mark", ""), Placement.from_definition(stored), pasts)

    def moved(self, placement: Placement, batch: int, moment: int, *, counted: bool) -> QueryDefinition:
        """The definition of a query that moves with a batch.

        `moment` is later than every row of earlier batches. `counted` says that the query has counted a batch.
        A query that moved with this very batch already has no row where it is: it moves from where it was before that.
        """
        pasts = self.pasts
        if counted and placement != self.placement:
            if not pasts or pasts[-1].until != batch:
                pasts = (*pasts, Moved(self.placement, batch, moment))
            elif pasts[-1].placement == placement:
                # The query moves back within the batch: it never left.
                pasts = pasts[:-1]
        return replace(self, placement=placement, pasts=pasts)

    @property
    def filling(self) -> Moved | None:
        """Where its rows of before its first batch are to be computed from kept rows; None where nothing is due."""
        return next((past for past in self.pasts if past.filling), None)

    def to_be_filled(self, batch: int, moment: int) -> QueryDefinition:
        """The definition of a query whose first batch is `batch`, and that is to have the kept rows of before too.

        `moment` is later than every row of earlier batches.
        """
        placement = replace(self.placement, tree=f"{FILLED}{batch}")
        return replace(self, pasts=(Moved(placement, batch, moment, filling=True),))

    def filled(self) -> QueryDefinition:
        """The definition of a query whose rows of before are there."""
        return replace(self, pasts=tuple(replace(past, filling=False) for past in self.pasts))

    def not_filled(self) -> QueryDefinition:
        """The definition of a query that goes on without the rows of before."""
        return replace(self, pasts=tuple(past for past in self.pasts if not past.filling))

    def without_pasts(self, until: int | None = None) -> QueryDefinition:
        """The definition without the placements that the query left by a batch; without any where no batch is given."""
        return replace(self, pasts=tuple(past for past in self.pasts if until is not None and past.until > until))


def parse_keep(said: Duration) -> timedelta | None:
    """How long closed windows are kept; None for ever."""
    if isinstance(said, str) and said.strip().lower() == FOREVER:
        return None
    keep = _parsed(said) if isinstance(said, str) else parse_duration(said)
    if keep < timedelta(0):
        raise EngineError("bad-keep", f"keep={str(said)!r} is negative", hint="Say '7 days', or 'forever'.")
    return keep


@lru_cache(maxsize=1000)
def _parsed(text: str) -> timedelta:
    """Parse a duration; cached, since thousands of queries are kept equally long."""
    return parse_duration(text)
