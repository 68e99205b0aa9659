"""A pass of DuckDB over the rows of a batch, as plain data: all base nodes of a network at once.

A pass is made once a plan (weft/passes/maker.py) and travels to Spark's tasks: names and types of columns, tables
of edges, texts of SQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weft.plan.dimensions import Cut
from weft.plan.slices import Slicing

# The rows of a pass, and the column for the numbers of matches in what it makes of them.
ROWS, NUMBER = "weft_rows", "weft_match"


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


@dataclass(frozen=True)
class Constants:
    """The constants of the predicates of a shape, a row for each; DuckDB's types and the values."""

    table: str
    types: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def sql(self) -> str:
        """The statements that make the table, also where a pass that failed on its way has left one."""
        columns = ", ".join(f"p{index} {kind}" for index, kind in enumerate(self.types))
        values = ", ".join(f"({', '.join(row)})" for row in self.rows)
        return f"CREATE OR REPLACE TABLE {self.table} ({columns}); INSERT INTO {self.table} VALUES {values}"


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
    constants: tuple[Constants, ...]
    lines: tuple[Line, ...]

    @property
    def needs_spark(self) -> bool:
        """Whether any column is computed by Spark."""
        return len(self.asked) > len(self.plain)
