"""What Spark itself says, recorded: our types, our grouping of operators and our names are Spark's, or we refuse."""

from __future__ import annotations

import re

import pytest
from sqlglot import exp

from tests.sql.fakes import FakeAggregates
from tests.sql.record_spark import COLUMNS, read
from weft.algebra.query import StreamSchema
from weft.errors import SqlError
from weft.sql.bind import compile_expression, compile_query
from weft.sql.ddl import parse_schema
from weft.sql.parse import parse_expression

KINDS = dict(parse_schema(COLUMNS))
# Spark refuses to fold 5000000000 to an int where we leave that to the row, and a NULL alone as a condition.
LENIENT = re.compile(r"split_part\(.*5000000000\)|case when NULL then 1 end")


def our_type(sql: str) -> str:
    try:
        return str(compile_expression(sql, KINDS, None).type)
    except SqlError:
        return "!"


def test_types_are_sparks() -> None:
    recorded = read("types")
    ours = {sql: our_type(sql) for sql in recorded}
    wrong = {sql: (kind, ours[sql]) for sql, kind in recorded.items()
             if ours[sql] not in ("!", kind) and not LENIENT.fullmatch(sql)}
    assert not wrong
    assert sum(ours[sql] == kind for sql, kind in recorded.items()) > 0.85 * len(recorded)


def test_numbers_booleans_and_times_are_refused_only_where_spark_refuses() -> None:
    """The operators and comparisons, over all pairs of columns that are not strings: nothing less than Spark has."""
    columns = "|".join(name for name in KINDS if name != "s_")
    pair = re.compile(rf"(?:{columns}|NULL) (?:[-+*/%&=<]|div|<=>) (?:{columns}|NULL)")
    recorded = {sql: kind for sql, kind in read("types").items() if pair.fullmatch(sql)}
    assert len(recorded) > 1000
    refused = {sql for sql, kind in recorded.items() if kind != "!" and our_type(sql) == "!"}
    # Arithmetic on times is refused by name, with a hint.
    assert all(re.search("[at]_", sql) for sql in refused) and len(refused) < 20


def shape(node: exp.Expr) -> object:  # noqa: PLR0912 - one line a kind of node
    """What a parsed expression means, without the parentheses and spellings that do not change it."""
    this, other = node.args.get("this"), node.args.get("expression")
    match node:
        case exp.Paren():
            return shape(node.this)
        case exp.And() | exp.Or():
            return (node.key, *(part for side in (node.this, node.expression) for part in _flat(node.key, shape(side))))
        case exp.Not():
            return ("not", shape(node.this))
        case exp.NEQ():
            return ("not", ("eq", shape(node.this), shape(node.expression)))
        case exp.NullSafeNEQ():
            return ("not", ("nullsafeeq", shape(node.this), shape(node.expression)))
        case exp.Is():
            value = shape(node.this)
            return ("is_null", value) if isinstance(other, exp.Null) else ("nullsafeeq", value, "true")
        case exp.Like() if node.args.get("negate"):
            return ("not", ("like", shape(node.this), shape(node.expression)))
        case exp.Neg() if isinstance(this, exp.Literal):
            return f"-{this.name}"
        case exp.Neg() if isinstance(this, exp.Cast) and isinstance(this.this, exp.Literal):
            return ("cast", f"-{this.this.name}")  # the sign belongs to the number: -1::int
        case exp.Cast():
            return ("cast", shape(node.this))
        case exp.In():
            return ("in", shape(node.this), *map(shape, node.expressions))
        case exp.Between():
            return ("between", shape(node.this), shape(node.args["low"]), shape(node.args["high"]))
        case exp.Anonymous():
            return (node.name.lower().removeprefix("f_"), *map(shape, node.expressions))
        case exp.DPipe():
            return ("concat", shape(node.this), shape(node.expression))
        case exp.RegexpLike():
            return ("rlike", shape(node.this), shape(node.expression))
        case exp.Binary() | exp.Unary():
            return (node.key, *(shape(part) for part in (this, other) if part is not None))
        case exp.Boolean():
            return "true"
        case _:
            return node.name


def _flat(key: str, found: object) -> tuple[object, ...]:
    return found[1:] if isinstance(found, tuple) and found[0] == key else (found,)


def test_operators_group_as_in_spark_or_the_text_is_refused() -> None:
    """Spark prints all its parentheses; read again, its print must be what we read from the text itself."""
    agreed = 0
    for sql, answer in read("precedence").items():
        try:
            ours = shape(parse_expression(sql))
        except SqlError:
            continue
        # IS TRUE takes no operator behind it, and no predicate takes a cast; both are refused when types are bound.
        if answer == "!":
            assert re.search(r"IS TRUE [^AO]|NULL ::", sql), sql
            continue
        # Spark prints BETWEEN and RLIKE as functions, by names that are words of the grammar.
        plain = re.sub(r"(between|RLIKE)\(", r"f_\1(", answer)
        assert ours == shape(parse_expression(plain)), (sql, answer)
        agreed += 1
    assert agreed > 300


@pytest.mark.parametrize(("sql", "name"), [pair for pair in read("names").items() if pair[1] != "NULL"])
def test_names_are_sparks(sql: str, name: str) -> None:
    stream = StreamSchema("v", KINDS, "t_")
    query = compile_query(f"SELECT {sql}, count(*) AS n FROM v GROUP BY {', '.join(KINDS)}", {"v": stream},
                          FakeAggregates())
    assert query.select[0].name == name
