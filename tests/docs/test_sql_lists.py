"""docs/sql.md lists every function, aggregate, type and limit that the code has, and no other.

`pytest --rewrite` writes the lists anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest

from tests.docs.markdown import DOCS, generated, regenerate
from weft.aggregates import userdefined
from weft.aggregates.catalog import AggregateCatalog
from weft.aggregates.rules import ALIASES, BUILT_IN, BY_EVENT_TIME, AggregateRule, Holistic
from weft.algebra import patterns, regexes, rewrites, size
from weft.algebra.expressions import Column, Literal
from weft.algebra.functions import CASTS, FUNCTIONS, LOGIC, MANY, NUMBERS, STRINGS, TIMES, Function, is_portable
from weft.algebra.types import BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, DataType, decimal
from weft.errors import SqlError
from weft.plan import needs
from weft.sql import ddl, guard, texts, window_call

PAGE = DOCS / "sql.md"
SAMPLES = (INT, DataType("bigint"), DOUBLE, decimal(10, 2), STRING, BOOLEAN, DATE, TIMESTAMP)

def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def code(*names: str) -> str:
    return ", ".join(f"`{name.replace('|', chr(92) + '|')}`" for name in names)


def functions_text() -> str:
    parts = []
    for title, group in (("Conditions and choices", LOGIC), ("Numbers", NUMBERS), ("Strings", STRINGS),
                         ("Dates and times", TIMES)):
        alike: dict[tuple[str, str], list[str]] = {}
        for one in group:
            others = f" ({code(*one.aliases)})" if one.aliases else ""
            alike.setdefault((over_aggregates(one), arguments(one)), []).append(code(one.name) + others)
        rows = [[", ".join(names), *kind[::-1]] for kind, names in sorted(alike.items(), reverse=True)]
        parts.append(f"### {title}\n\n" + table(["name (other names)", "arguments", "over aggregates"], rows))
    casts = code(*(one.name for one in CASTS))
    parts.append(f"### Casts\n\n{casts} are casts that look like functions: `int(x)` is `CAST(x AS INT)`.\n")
    return "\n".join(parts)


def arguments(one: Function) -> str:
    if one.least == one.most:
        return str(one.least)
    return f"{one.least} or more" if one.most >= MANY else f"{one.least} to {one.most}"


def over_aggregates(one: Function) -> str:
    """Whether a call is portable: some functions become CASE or others, so the call is made and looked at."""
    for kinds in product(SAMPLES, repeat=one.least):
        try:
            built = one.build(tuple(Column(f"x{place}", kind) for place, kind in enumerate(kinds)))
        except SqlError:
            continue
        if not isinstance(built, Column):
            return "yes" if is_portable(built) else "no"
    return "no"


def aggregates_text() -> str:
    rows = []
    for rule in BUILT_IN:
        others = [name for name, target in ALIASES.items() if target == rule.name]
        call = "count(DISTINCT x, ...)" if rule.name == "count distinct" else \
            f"{rule.name}(x, {'p' if rule.name == 'percentile' else 'y'})" if rule.arity == 2 else f"{rule.name}(x)"
        rows.append([code(call), code(*others), types_of(rule), kept_for(rule)])
    for name, target in BY_EVENT_TIME.items():
        others = [alias for alias, canonical in ALIASES.items() if canonical == name]
        rows.append([code(f"{name}(x)"), code(*others), "any → the same", f"as {code(f'{target}(x, event time)')}"])
    return table(["aggregate", "other names", "takes and gives", "kept"], rows)


def types_of(rule: AggregateRule) -> str:
    taken = [kind for kind in SAMPLES if not rule.accepts((kind,) * rule.arity)]
    given = {kind: rule.result((kind,) * rule.arity) for kind in taken}
    if all(kind == result for kind, result in given.items()):
        return f"{'any' if len(taken) == len(SAMPLES) else str(taken[0])} → the same"
    if len(set(given.values())) == 1:
        name = "any" if len(taken) == len(SAMPLES) else "numbers"
        return f"{name} → {next(iter(given.values()))}"
    return ", ".join(f"{kind} → {result}" for kind, result in given.items())


def kept_for(rule: AggregateRule) -> str:
    numbers = bool(rule.accepts((STRING,) * rule.arity))
    kind = BOOLEAN if numbers and not rule.accepts((BOOLEAN,)) else DOUBLE if numbers else STRING
    second = Literal(0.5, DOUBLE) if rule.name == "percentile" else Column("y", kind)
    name = rule.name.removesuffix(" distinct")
    catalog = AggregateCatalog()
    bound = catalog.bind(name, (Column("x", kind), second)[:rule.arity], rule.name != name)
    made = catalog.decompose(bound)
    if isinstance(made, Holistic):
        return "value counts of `x`"
    return code(*(str(one) for one in made.statistics))


def types_text() -> str:
    rows = []
    for kind in dict.fromkeys(ddl.TYPES.values()):
        names = [name for name, found in ddl.TYPES.items() if found == kind and name != str(kind)]
        rows.append([code(str(kind)), code(*names)])
    rows.append([code("decimal(p,s)"), code("dec", "numeric")])
    return table(["type", "other names"], rows)


def limits_text() -> str:
    rows = [
        ("bytes of a text", texts.MAX_BYTES),
        ("words and signs of a text", guard.MAX_TOKENS),
        ("parts of a parsed text", guard.MAX_NODES),
        ("parts of a query once it is written out", size.MAX_WRITTEN),
        ("nested parentheses, `CASE` and `NOT`", guard.MAX_DEPTH),
        ("height of an expression", guard.MAX_HEIGHT),
        ("values in an `IN` list", guard.MAX_IN_LIST),
        ("aggregates of a query", needs.MAX_MEASURES),
        ("statistics that the aggregates of a query are made of", needs.MAX_STATISTICS),
        ("statistics of a user-defined aggregate", userdefined.MAX_STATISTICS),
        ("expressions whose values a query counts", needs.MAX_VALUES),
        ("windows that one row is in", window_call.MAX_OVERLAP),
        ("characters of a pattern", patterns.MAX_PATTERN),
        ("groups in one another in a regular expression", regexes.MAX_GROUPS),
        ("`%` in a `LIKE` pattern", patterns.MAX_WILDCARDS),
        ("count of `repeat`, `lpad` and `rpad`", rewrites.MAX_REPEAT),
    ]
    return table(["what", "at most"], [[name, f"{value:,}"] for name, value in rows])


PARTS = {"functions": functions_text, "aggregates": aggregates_text, "types": types_text, "limits": limits_text}


@pytest.mark.parametrize("name", PARTS)
def test_the_list_is_that_of_the_code(name: str, rewrite: bool) -> None:
    if rewrite:
        regenerate(PAGE, name, "\n" + PARTS[name]() + "\n")
    assert generated(PAGE, name) == "\n" + PARTS[name]() + "\n"


def test_no_function_is_missing() -> None:
    text = generated(PAGE, "functions")
    assert [name for name in FUNCTIONS if code(name) not in text] == []


def test_no_aggregate_is_missing() -> None:
    text = generated(PAGE, "aggregates")
    assert [name for name in AggregateCatalog().names()
            if f"`{name}`" not in text and f"`{name}(" not in text] == []
