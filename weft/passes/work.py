"""A pass of DuckDB over the rows of a batch, as plain data: all base nodes of a network at once.

A pass is made once a plan (weft/passes/maker.py) and travels to Spark's tasks: names and types of columns, tables
of edges, texts of SQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weft.passes.codes import Numbers, Operand
from weft.passes.index import Predicates
from weft.plan.dimensions import Cut
from weft.plan.slices import Slicing

# The rows of a pass with their places, and the column for the numbers of matches in what it makes of them.
ROWS, PLACE, NUMBER = "weft_rows", "weft_place", "weft_match"
# The places of the rows that predicates keep, with the numbers of their matches and of the statement that reads them.
FOUND, LINE = "weft_found", "weft_line"


@dataclass(frozen=True)
class SliceColumn:
    """The slices of a tree."""

    name: str
    slicing: Slicing


@dataclass(frozen=True)
class CellColumn:
    """The cells of a value: a column that was asked for, or SQL over such columns."""

    name: str
    value: str
    cuts: tuple[Cut, ...]


@dataclass(frozen=True, eq=False)
class Lookup:
    """The predicates of all matches that a row is looked up for, whatever the nodes, as spans of the codes of operands.

    numbers: the number of each predicate's match, and lines: the number of the statement that makes its partial rows,
    which reads the rows that were found under that number.
    """

    operands: tuple[Operand, ...]
    predicates: Predicates
    numbers: Numbers
    lines: Numbers


@dataclass(frozen=True)
class Share:
    """A node that a statement makes partial rows of: all of its rows, or those of the matches that it looks for.

    column: the node's dimension of matches, under whose name the numbers of matches belong there.
    """

    node: str
    column: str = ""
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Line:
    """A statement of a pass, and the nodes that it makes partial rows of: those that differ in nothing but the queries
    that read them, as where every query has a node of its own."""

    sql: str
    shares: tuple[Share, ...]


@dataclass(frozen=True)
class Pass:
    """All base nodes of a network over rows as Arrow.

    asked: the columns to ask Spark for, as SQL by name. plain: the names of those that are columns of the stream as
    they are, by the stream's name for them; where all are plain, no Spark is needed to compute any.
    """

    asked: Mapping[str, str]
    plain: Mapping[str, str]
    slices: tuple[SliceColumn, ...]
    cells: tuple[CellColumn, ...]
    columns: tuple[tuple[str, str], ...]
    lookup: Lookup | None
    lines: tuple[Line, ...]

    @property
    def needs_spark(self) -> bool:
        """Whether any column is computed by Spark."""
        return len(self.asked) > len(self.plain)
