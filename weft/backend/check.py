"""Whether every expression over partial rows can be written for the backend: asked before a query is registered."""

from __future__ import annotations

from weft.aggregates.rules import Plain
from weft.algebra.expressions import Slot, WindowPart
from weft.backend.render import duck_sql
from weft.plan.needs import Needs


def check_expressions(needs: Needs) -> None:
    """Raise what building the view of a query would raise, for less work: only its expressions are written."""
    results = [measure.made_of.result for measure in needs.measures if isinstance(measure.made_of, Plain)]
    finals = [*(item.expression for item in needs.select), *(key.expression for key in needs.order)]
    for expression in (*results, *finals, needs.having, needs.residue):
        if expression is not None and not isinstance(expression, Slot | WindowPart):
            duck_sql(expression, {})
