"""User-defined aggregates in SQL: statistics that merge, and a result over them. The same rules as the built-in ones.

geometric_mean(x double) = { s: sum(ln(x)), n: count(x) }, merged by sum and sum, exp(s / n)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from weft.aggregates.catalog import AggregateCatalog, Plain, UserRule
from weft.errors import SqlError
from weft.sql.bind import compile_expression
from weft.sql.ddl import parse_schema
from weft.sql.expressions import Aggregate, walk
from weft.sql.functions import is_portable

# How the values of each statistic come together again; the user says it too, so that a wrong idea is caught at once.
MERGES = {"count": "sum", "sum": "sum", "min": "min", "max": "max", "bool_and": "bool_and", "bool_or": "bool_or"}


def define_aggregate(name: str, definition: Mapping[str, Any], catalog: AggregateCatalog) -> UserRule:
    """The rule of a definition {parameters, statistics, merge, result}; refuses what would not merge."""
    if not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
        raise SqlError("bad-name", f"{name!r} cannot name an aggregate", hint="Use lower-case letters, digits and _.")
    if name in catalog.names():
        raise SqlError("aggregate-exists", f"{name} is an aggregate already", hint="Use another name.")
    parameters = parse_schema(definition["parameters"])
    statistics: list[tuple[str, Aggregate]] = []
    for column, sql in definition["statistics"].items():
        compiled = compile_expression(sql, dict(parameters), catalog)
        if not isinstance(compiled, Aggregate) or compiled.function not in MERGES or compiled.distinct:
            raise SqlError(
                "not-a-statistic",
                f"{name}: {column} = {sql} is not a basic statistic",
                hint=f"Use one of {', '.join(sorted(MERGES))} over an expression of the parameters.",
            )
        merge = re.sub(r"\(.*\)$", "", definition["merge"].get(column, "").strip().lower())
        if merge != MERGES[compiled.function]:
            raise SqlError(
                "wrong-merge",
                f"{name}: {compiled.function} is merged by {MERGES[compiled.function]}, not by {merge or 'nothing'}",
                hint=f"Write merge={{'{column}': '{MERGES[compiled.function]}({column})', ...}}.",
            )
        statistics.append((column, compiled))
    kinds = {column: aggregate.type for column, aggregate in statistics}
    result = compile_expression(definition["result"], kinds, None)
    if not is_portable(result) or any(isinstance(node, Aggregate) for node in walk(result)):
        raise SqlError(
            "not-over-aggregates",
            f"{name}: {definition['result']} cannot be computed from statistics",
            hint="Use arithmetic, comparisons, CASE, numeric casts and numeric functions.",
        )
    rule = UserRule(name, parameters, tuple(statistics), result)
    assert all(isinstance(catalog.decompose(aggregate), Plain) for _, aggregate in statistics)
    return rule
