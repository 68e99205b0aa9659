"""Basic statistics: what is kept of many rows so that any split of them can be merged again.

A statistic is a mergeable column of a node. This table is the only place that knows how one is built from rows (by
Spark) and merged from partial rows (by the reading engine); planning and execution ask it and never look at names.
The law every entry keeps: merging is associative and commutative, and merging the statistics of any split of some rows
gives the statistics of all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from weft.algebra.expressions import Expression, identity, text
from weft.algebra.types import BIGINT, DOUBLE, DataType, adjusted_decimal, decimal
from weft.sql.spelling import filter_text, spelled


@dataclass(frozen=True)
class Statistic:
    """One mergeable column: a basic statistic over the argument expressions of the rows that satisfy `where`.

    `needs` are the statistics that its merge rule reads beside itself.
    """

    basic: str
    arguments: tuple[Expression, ...]
    type: DataType
    where: Expression | None = None
    needs: tuple[Statistic, ...] = ()

    @property
    def name(self) -> str:
        return identity("s", str(self))

    @property
    def spelled(self) -> str:
        """For people: as the aggregate that it is or is a part of, over expressions as they write them."""
        inside = ", ".join(map(spelled, self.arguments)) or "*"
        return f"{SPELLED.get(self.basic, self.basic)}({inside}){filter_text(self.where)}"

    def __str__(self) -> str:
        inside = ", ".join(map(text, self.arguments)) or "*"
        where = f" filter ({text(self.where)})" if self.where is not None else ""
        return f"{self.basic}({inside}){where}"


# How basic statistics are called in a query, where that is another name.
SPELLED = {"wide_sum": "sum", "least": "min_by", "greatest": "max_by"}


@dataclass(frozen=True)
class Basic:
    """How a statistic comes to be.

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
    # Of 64-bit integers: neither Spark nor a merge overflows, since the rows of a group may be those of other queries.
    # Halves of 32 bits are summed as 64-bit integers.
    "wide_sum": Basic(
        "CAST(CAST(sum(shiftright({0}, 32)) AS DECIMAL(38, 0)) * 4294967296 + sum({0} & 4294967295) "
        "AS DECIMAL(38, 0))",
        "CAST(sum({c}) AS {t})",
        lambda _: decimal(38, 0),
    ),
    # Of integers of up to 32 bits, exactly: halves of 31 bits are summed as 64-bit integers, far cheaper than decimals.
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
    # a rule of our own the answer would depend on how rows were split. nullif(.., NULL) changes no value, it only
    # says that there may be none: Arrow refuses a struct that is NULL where one of its fields never is.
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
    """The statistic of this kind over these arguments, with the type it is stored in."""
    kind = BASICS[basic].result(tuple(argument.type for argument in arguments))
    return Statistic(basic, arguments, kind, where, needs)


# count(*), which every node holds.
ROW_COUNT = statistic("count")


def hashable(one: Statistic) -> bool:
    """Whether Spark can aggregate it in a hash map; a single one that cannot turns the whole aggregate into a sort."""
    if one.basic == "count":
        return True
    return BASICS[one.basic].hashable and one.type.name != "string"
