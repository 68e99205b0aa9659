"""Prices: the seconds that a unit of everything takes that a tick is counted by (weft/plan/cost.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

# What computes base nodes from rows: Spark's statements, or a pass of DuckDB.
SPARK, DUCKDB = "spark", "duckdb"
KERNELS = (SPARK, DUCKDB)
# The seconds of what must not be.
NEVER = 1e6


@dataclass(frozen=True)
class Costs:
    """The seconds that a unit of each amount takes. The defaults were measured on two cores of a small server."""

    tick: float = 0.024
    job: float = 0.15
    read: float = 5.8e-08
    test: float = 6.2e-09
    group: float = 2.4e-08
    key: float = 5.1e-09
    measure: float = 5.4e-09
    out: float = 1.3e-07
    set: float = 0.0
    begin: float = 0.059
    take: float = 3.1e-07
    carry: float = 5e-08
    fetch: float = 4.5e-08
    load: float = 7.8e-09
    file: float = 0.00027
    column: float = 0.00022
    seek: float = 2.5e-09
    line: float = 0.00042
    term: float = 5.6e-05
    part: float = 0.00013
    branch: float = 0.00019
    put: float = 3.2e-10
    look: float = 2.2e-08
    compare: float = 5.7e-09
    hand: float = 1.9e-08
    merge: float = 0.00033
    derive: float = 2.5e-08
    node: float = 9.6e-05
    store: float = 5.1e-08
    family: float = 0.014
    visit: float = 7.3e-08

    def definition(self) -> dict[str, float]:
        return asdict(self)

    @classmethod
    def from_definition(cls, definition: Mapping[str, Any]) -> Costs:
        """The prices of a definition; by what names mean now, a definition that lacks any of them says nothing."""
        if not all(price.name in definition for price in fields(cls)):
            return cls()
        return cls(**{price.name: float(definition[price.name]) for price in fields(cls)})

    def over_files(self) -> Costs:
        """The same for a stream whose files a pass reads by itself, without a job of Spark's."""
        return replace(self, begin=0.0, take=self.fetch, carry=self.load)

    def for_kernel(self, kernel: str) -> Costs:
        """The prices under which a tick never pays by another kernel."""
        return replace(self, begin=NEVER) if kernel == SPARK else replace(self, job=NEVER)

    def price(self, amounts: Mapping[str, float]) -> float:
        """The seconds that these amounts take."""
        return float(sum(getattr(self, name) * amount for name, amount in amounts.items()))


NAMES = tuple(price.name for price in fields(Costs))
MEANING = {
    "tick": "a tick with nothing to do",
    "job": "a Spark job",
    "read": "reading a row, once for each job",
    "test": "testing a row against one predicate or one cut on the way to its cell or slice",
    "group": "putting a row into its group in one base node",
    "key": "carrying one grouping key of a row along to one base node",
    "measure": "adding a row to one statistic of one base node",
    "out": "a value of a partial row from Spark to the driver",
    "set": "a base node in a job of Spark's, however few the rows",
    "begin": "a pass of DuckDB over the rows of a tick, in place of Spark's jobs",
    "take": "a row that Spark hands to a pass, with its moment",
    "carry": "a value of a row from Spark to a pass",
    "fetch": "a row that a pass reads from a file by itself, with its moment",
    "load": "a value of a row from a file to a pass that reads the files by itself",
    "file": "a file of a tick",
    "column": "a column that a pass reads, however few the rows",
    "seek": "testing a row against one cut on the way to its cell or slice in a pass",
    "line": "a statement of a pass: a base node, base nodes that differ in their readers only, or matches",
    "term": "a dimension or statistic in a statement of a pass",
    "part": "a base node's part of what a statement of a pass makes",
    "branch": "a group of predicates that are looked up, an operand that is no column, or a predicate that is listed",
    "put": "a value of a row put into its group in one base node by a pass",
    "look": "a row looked up in a group or a word of predicates by a pass",
    "compare": "a row held against a condition of a predicate by a pass",
    "hand": "a value of a partial row that a pass makes",
    "merge": "a derived node, however few the partial rows",
    "derive": "a value of a partial row merged into one derived node",
    "node": "a stored node in a tick: its part of a file and its line in the catalog",
    "store": "a value of a partial row written and later merged into blocks",
    "family": "a family of windows that are finished ahead",
    "visit": "a partial row of one window that is finished ahead",
}
