"""Basic statistics: the mergeable columns of nodes, which hold enough of many rows to be merged from any split of them.

The table BASICS alone knows how a statistic is built from rows (by Spark) and merged from partial rows (by the reading
engine); planning and execution ask it and never look at names. The law every entry keeps: merging is associative and
commutative, and merging the statistics of any split of a set of rows gives the statistics of the whole set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from weft.algebra.expressions import Expression, identity, text
from weft.algebra.types import BIGINT, DOUBLE, DataType, adjusted_decimal, decimal
from weft.sql.spelling import filter_text, spelled


@dataclass(frozen=True)
class Statistic:
    """A mergeable column: a basic statistic over the argument expressions of the rows that satisfy `where`.

    `needs` are the further statistics that its merge rule reads.
    """

    basic: str
    arguments: tuple[Expression, ...]
    type: DataType
    where: Expression | None = None
    needs: tuple[Statistic, ...] = ()

    # Sets of statistics are made all the time: the text is worked out once, the trees of expressions are long.
    def __hash__(self) -> int:
        return hash(self._text)

    @property
    def name(self) -> str:
        return identity("s", self._text)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """What is computed of a row: the arguments, and the condition that makes them count."""
        return (*self.arguments, *(() if self.where is None else (self.where,)))

    @property
    def spelled(self) -> str:
        """The text for people: the aggregate that the statistic serves, over expressions as people write them."""
        inside = ", ".join(map(spelled, self.arguments)) or "*"
        return f"{SPELLED.get(self.basic, self.basic)}({inside}){filter_text(self.where)}"

    @cached_property
    def _text(self) -> str:
        inside = ", ".join(map(text, self.arguments)) or "*"
        where = f" filter ({text(self.where)})" if self.where is not None else ""
        return f"{self.basic}({inside}){where}"

    def __str__(self) -> str:
        return self._text


# The names that basic statistics have in a query, where these differ from their own.
SPELLED = {"wide_sum": "sum", "least": "min_by", "greatest": "max_by"}


@dataclass(frozen=True)
class Basic:
    """How a statistic is built from rows and merged from partial rows.

    build: Spark SQL over the arguments {0}, {1} (only of rows that count).
    merge: SQL over the column {c} and the needed columns {0}, {1}; {t} is the stored type.
    hashable: Spark can keep its buffer in a hash aggregate when the arguments are of fixed width.
    prepare: SQL of a helper column {h} over whole groups that merge needs first, or empty.
    """

    build: str
    merge: str
    result: Callable[[tuple[DataType, ...]], DataType]
    hashable: bool = True
    prepare: str = ""


def _same(arguments: tuple[DataType, ...]) -> DataType:
    return arguments[0]


def _sum(arguments: tuple[DataType, ...]) -> DataType:
    kind = arguments[0]
    if kind.is_integral:
        return BIGINT
    return adjusted_decimal(min(kind.precision + 10, 38), kind.scale) if kind.is_decimal else DOUBLE


BASICS: dict[str, Basic] = {
    "count": Basic("count({0})", "CAST(coalesce(sum({c}), 0) AS BIGINT)", lambda _: BIGINT),
    "sum": Basic("sum({0})", "CAST(sum({c}) AS {t})", _sum),
    # The sum of 64-bit integers. Rows of other queries may be in the group, so neither Spark nor a merge may overflow:
    # halves of 32 bits are summed as 64-bit integers.
    "wide_sum": Basic(
        "CAST(CAST(sum(shiftright({0}, 32)) AS DECIMAL(38, 0)) * 4294967296 + sum({0} & 4294967295) "
        "AS DECIMAL(38, 0))",
        "CAST(sum({c}) AS {t})",
        lambda _: decimal(38, 0),
    ),
    # The sum of the squares of integers of up to 32 bits, exactly: halves of 31 bits are summed as 64-bit integers,
    # which is far cheaper than decimals.
    "squares": Basic(
        "CAST(CAST(sum(shiftright(CAST({0} AS BIGINT) * {0}, 31)) AS DECIMAL(38, 0)) * 2147483648 "
        "+ sum((CAST({0} AS BIGINT) * {0}) & 2147483647) AS DECIMAL(38, 0))",
        "CAST(sum({c}) AS {t})",
        lambda _: decimal(38, 0),
    ),
    "min": Basic("min({0})", "min({c})", _same),
    "max": Basic("max({0})", "max({c})", _same),
    "bool_and": Basic("bool_and({0})", "bool_and({c})", _same),
    "bool_or": Basic("bool_or({0})", "bool_or({c})", _same),
    # The sum of squared distances from the mean (needs: count and sum). Chan's rule, with the mean of the whole group
    # computed first, so that no two large numbers are ever subtracted.
    "m2": Basic(
        "var_pop({0}) * count({0})",
        "sum({c}) + sum({0} * pow(CAST({1} AS DOUBLE) / {0} - {h}, 2)) FILTER (WHERE {0} > 0)",
        lambda _: DOUBLE,
        prepare="CAST(sum({1}) OVER {w} AS DOUBLE) / nullif(sum({0}) OVER {w}, 0)",
    ),
    # The value {0} at the least and greatest {1}. Ties go by the value, nulls first, in both engines alike: without
    # a rule of our own the answer would depend on how rows were split. nullif(.., NULL) changes no value and only
    # makes a field nullable: Arrow refuses a struct that is NULL and has a field that is not nullable.
    "least": Basic(
        "min(IF({1} IS NULL, NULL, struct(nullif({1}, NULL) AS o, nullif({0} IS NOT NULL, NULL) AS p, "
        "nullif({0}, NULL) AS v)))",
        "min({c})",
        _same,
        hashable=False,
    ),
    "greatest": Basic(
        "max(IF({1} IS NULL, NULL, struct(nullif({1}, NULL) AS o, nullif({0} IS NOT NULL, NULL) AS p, "
        "nullif({0}, NULL) AS v)))",
        "max({c})",
        _same,
        hashable=False,
    ),
}


def statistic(
    basic: str, *arguments: Expression, where: Expression | None = None, needs: tuple[Statistic, ...] = ()
) -> Statistic:
    """The basic statistic of this name over these arguments, with the type it is stored in."""
    kind = BASICS[basic].result(tuple(argument.type for argument in arguments))
    return Statistic(basic, arguments, kind, where, needs)


# count(*), which every node holds.
ROW_COUNT = statistic("count")


def hashable(statistic: Statistic) -> bool:
    """Whether Spark can aggregate a statistic in a hash map; where it cannot, the whole aggregate becomes a sort."""
    if statistic.basic == "count":
        return True
    return BASICS[statistic.basic].hashable and statistic.type.name != "string"
