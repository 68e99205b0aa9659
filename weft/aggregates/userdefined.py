"""User-defined aggregates in SQL: statistics that merge, and a result over them. The same rules as the built-in ones.

geometric_mean(x double) = { s: sum(ln(x)), n: count(x) }, merged by sum and sum, exp(s / n)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from weft.aggregates.catalog import AggregateCatalog, UserRule
from weft.aggregates.rules import Plain
from weft.algebra.expressions import Aggregate, walk
from weft.algebra.functions import FORBIDDEN, FUNCTIONS, NONDETERMINISTIC, OPERATORS, is_portable
from weft.errors import SqlError
from weft.sql.bind import compile_expression
from weft.sql.ddl import TYPES, parse_schema

# How the values of each statistic come together again; the user says it too, so that a wrong idea is caught at once.
MERGES = {"count": "sum", "sum": "sum", "min": "min", "max": "max", "bool_and": "bool_and", "bool_or": "bool_or"}

# Every statistic is a column of a node, which Spark computes for every row.
MAX_STATISTICS = 32

# Words that SQL writes before a parenthesis and that mean something there, besides functions and aggregates.
FORMS = frozenset("""
    window session_window cube rollup count_if percentile_cont percentile_disc cast try_cast extract position case when
    then else end exists between distinct filter over within array_agg listagg interval struct array map named_struct
    decimal dec numeric null true false select from where group having order limit is like ilike as all
""".split())
# A query calls each of these by its name: an aggregate of that name would change what queries mean.
TAKEN = frozenset({*FUNCTIONS, *OPERATORS, *NONDETERMINISTIC, *FORBIDDEN, *FORMS, *TYPES})


def define_aggregate(name: str, definition: Mapping[str, Any], catalog: AggregateCatalog) -> UserRule:
    """The rule of a definition {parameters, statistics, merge, result}; refuses what would not merge."""
    _check_name(name, catalog)
    _check_shape(name, definition)
    parameters = parse_schema(definition["parameters"])
    if len(definition["statistics"]) > MAX_STATISTICS:
        raise SqlError(
            "too-large",
            f"{name} has {len(definition['statistics'])} statistics, more than {MAX_STATISTICS}",
            hint="Make several aggregates of it.",
        )
    statistics: list[tuple[str, Aggregate]] = []
    for column, sql in definition["statistics"].items():
        compiled = compile_expression(sql, dict(parameters), catalog)
        if not isinstance(compiled, Aggregate) or compiled.function not in MERGES or compiled.distinct:
            raise SqlError(
                "not-a-statistic",
                f"{name}: {column[:60]} = {sql[:200]} is not a basic statistic",
                hint=f"Use one of {', '.join(sorted(MERGES))} over an expression of the parameters.",
            )
        known, merge = MERGES[compiled.function], definition["merge"].get(column, "").strip()
        if merge.lower() not in (known, f"{known}({column.lower()})"):
            raise SqlError(
                "wrong-merge",
                f"{name}: {compiled.function} is merged by {known}, not by {merge[:60] or 'nothing'}",
                hint=f"Write merge={{'{column}': '{known}({column})', ...}}.",
            )
        statistics.append((column, compiled))
    kinds = {column: aggregate.type for column, aggregate in statistics}
    result = compile_expression(definition["result"], kinds, None)
    if not is_portable(result) or any(isinstance(node, Aggregate) for node in walk(result)):
        raise SqlError(
            "not-over-aggregates",
            f"{name}: {definition['result'][:200]} cannot be computed from statistics",
            hint="Use arithmetic, comparisons, CASE, numeric casts and numeric functions.",
        )
    rule = UserRule(name, parameters, tuple(statistics), result)
    assert all(isinstance(catalog.decompose(aggregate), Plain) for _, aggregate in statistics)
    return rule


def _check_shape(name: str, definition: Mapping[str, Any]) -> None:
    """Refuse a definition that is not made of texts, or whose statistics and merges are not the same ones."""
    for key in ("statistics", "merge"):
        given = definition[key]
        if not isinstance(given, Mapping) or not all(isinstance(one, str) for pair in given.items() for one in pair):
            hint = f'Write for example {key}={{"s": "{"sum(x)" if key == "statistics" else "sum(s)"}"}}.'
            raise SqlError("bad-type", f"{name}: {key} is no mapping from names to texts", hint=hint)
    if not isinstance(definition["result"], str):
        raise SqlError("bad-type", f"{name}: the result is no text", hint='Write for example result="s / n".')
    once = {column.lower(): column for column in definition["statistics"]}
    twice = next((column for column in definition["statistics"] if once[column.lower()] != column), None)
    if twice is not None:
        message = f"{name}: the statistics {twice[:60]!r} and {once[twice.lower()][:60]!r} are one name to SQL"
        raise SqlError("duplicate-name", message, hint="Use names that differ in more than capitals.")
    more = next((column for column in definition["merge"] if column not in definition["statistics"]), None)
    if more is not None:
        raise SqlError("wrong-merge", f"{name}: there is no statistic {more[:60]!r} to merge", hint="Leave it out.")


def _check_name(name: str, catalog: AggregateCatalog) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"[a-z_][a-z0-9_]{0,59}", name):
        raise SqlError(
            "bad-name", f"{str(name)[:60]!r} cannot name an aggregate", hint="Use 1 to 60 of a-z, 0-9 and _."
        )
    if name in catalog.names():
        raise SqlError("aggregate-exists", f"{name} is an aggregate already", hint="Use another name.")
    if name in TAKEN:
        raise SqlError("bad-name", f"{name} means something else in SQL already", hint="Use another name.")
