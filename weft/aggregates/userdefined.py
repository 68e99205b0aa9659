"""User-defined aggregates in SQL: statistics that merge and a result over them, by the rules of the built-in kind.

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
from weft.sql.ddl import TYPES, parse_schema

# How the values of each statistic are merged; the definition says it too, so that a wrong idea is caught at once.
MERGES = {"count": "sum", "sum": "sum", "min": "min", "max": "max", "bool_and": "bool_and", "bool_or": "bool_or"}

# Every statistic is a column of a node, which Spark computes for every row.
MAX_STATISTICS = 32

# Words that SQL writes before a parenthesis and that mean something there, besides functions and aggregates.
SYNTAX_WORDS = frozenset("""
    window session_window cube rollup count_if percentile_cont percentile_disc cast try_cast extract position case when
    then else end exists between distinct filter over within array_agg listagg interval struct array map named_struct
    decimal dec numeric null true false select from where group having order limit is like ilike as all
""".split())
# Names that mean something in a query already: an aggregate of such a name would change what queries mean.
RESERVED_NAMES = frozenset({*FUNCTIONS, *OPERATORS, *NONDETERMINISTIC, *FORBIDDEN, *SYNTAX_WORDS, *TYPES})


def define_aggregate(name: str, definition: Mapping[str, Any], catalog: AggregateCatalog) -> UserRule:
    """The rule of a definition {parameters, statistics, merge, result}; refuses what would not merge."""
    # The import is here, because only a definition needs the parser; whoever calls aggregates needs only the rules.
    from weft.sql.bind import compile_expression

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
    """Refuse a definition that is not made of texts, or whose merges name other columns than its statistics."""
    for key in ("statistics", "merge"):
        texts = definition[key]
        if not isinstance(texts, Mapping) or not all(isinstance(text, str) for pair in texts.items() for text in pair):
            hint = f'Write for example {key}={{"s": "{"sum(x)" if key == "statistics" else "sum(s)"}"}}.'
            raise SqlError("bad-type", f"{name}: {key} is no mapping from names to texts", hint=hint)
    if not isinstance(definition["result"], str):
        raise SqlError("bad-type", f"{name}: the result is no text", hint='Write for example result="s / n".')
    last_spelling = {column.lower(): column for column in definition["statistics"]}
    repeated = next((column for column in definition["statistics"] if last_spelling[column.lower()] != column), None)
    if repeated is not None:
        other = last_spelling[repeated.lower()]
        message = f"{name}: the statistics {repeated[:60]!r} and {other[:60]!r} are one name to SQL"
        raise SqlError("duplicate-name", message, hint="Use names that differ in more than capitals.")
    unknown = next((column for column in definition["merge"] if column not in definition["statistics"]), None)
    if unknown is not None:
        raise SqlError("wrong-merge", f"{name}: there is no statistic {unknown[:60]!r} to merge", hint="Leave it out.")


def _check_name(name: str, catalog: AggregateCatalog) -> None:
    """Refuse a name that is malformed, taken by another aggregate or has a meaning in SQL."""
    if not isinstance(name, str) or not re.fullmatch(r"[a-z_][a-z0-9_]{0,59}", name):
        raise SqlError(
            "bad-name", f"{str(name)[:60]!r} cannot name an aggregate", hint="Use 1 to 60 of a-z, 0-9 and _."
        )
    if name in catalog.names():
        raise SqlError("aggregate-exists", f"{name} is an aggregate already", hint="Use another name.")
    if name in RESERVED_NAMES:
        raise SqlError("bad-name", f"{name} means something else in SQL already", hint="Use another name.")
