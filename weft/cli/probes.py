"""Probes: the workloads that calibration runs, each heavy in another thing, and the random rows that they run over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from weft.plan.prices import DUCKDB, SPARK

# Columns that only the probe of columns reads.
MORE = tuple(f"z{number}" for number in range(80))
SCHEMA = "ts timestamp, a int, b int, c int, d int, e int, f int, many int, more bigint, x int, y double"
KINDS = {"a": 3, "b": 4, "c": 5, "d": 6, "e": 7, "f": 8, "many": 20_000}
# Between the values of a column: DuckDB groups by small numbers that lie close together in a way of its own.
FAR = 1_000_003
START = 1_700_000_000_000_000
SPAN = 20_000_000
# The ways in which the rows of each probe are aggregated: by which kernel, and whether it reads their file by itself.
WAYS = ((SPARK, False), (DUCKDB, False), (DUCKDB, True))


@dataclass(frozen=True)
class Probe:
    """Queries that are heavy in a single thing, and how many rows, in how many files, a tick of these queries has."""

    name: str
    rows: int
    queries: Mapping[str, str]
    eager: bool = False
    sharing: str = "everything"
    files: int = 1
    # Whether its rows have many more columns.
    wide: bool = False
    by_spark: bool = True

    @property
    def ways(self) -> tuple[tuple[str, bool], ...]:
        """How it is run; how many files a tick had is known where a pass reads them by itself."""
        if self.files > 1:
            return ((DUCKDB, True),)
        return WAYS if self.by_spark else WAYS[1:]

    @property
    def schema(self) -> str:
        return ", ".join([SCHEMA, *(f"{name} int" for name in MORE if self.wide)])


def probes(scale: float = 1.0) -> list[Probe]:
    """The workloads that calibration runs."""

    def query(group: str, what: str = "count(*) AS n", window: str = "'10 seconds'", where: str = "") -> str:
        by = ", ".join(part for part in (f"window(ts, {window})", group) if part)
        return f"SELECT {', '.join(filter(None, (group, what)))} FROM rows {where} GROUP BY {by}"

    tiny, few, many = 200, round(100_000 * scale), round(1_000_000 * scale)
    columns = "abcdef"
    singles, pairs, triples = ([", ".join(some) for some in combinations(columns, size)] for size in (1, 2, 3))
    measures = ", ".join(
        [f"{kind}({column}) AS {kind}_{column}" for kind in ("sum", "min", "max", "avg") for column in ("x", "y", "a")]
    )
    single = {"one": query("a")}
    # Of a shape of its own each, and fifteen of each shape.
    shapes = [(*pair, third) for pair in permutations(columns, 2) for third in "xy"]
    alerts = {
        f"a{index}": query("", where=f"WHERE {first} = {FAR} AND {second} > {2 * FAR} AND {third} > {900 - index}")
        for index, (first, second, third) in enumerate(shapes)
    }
    conditions = [
        f"{columns[index % 6]} = {index % 3 * FAR} AND {'xy'[index % 2]} > {800 + index}" for index in range(150)
    ]
    like = {f"l{index}": query("", where=f"WHERE {condition}") for index, condition in enumerate(conditions[:90])}
    any_of_them = query("", where=f"WHERE {' OR '.join(f'({condition})' for condition in conditions)}")
    measured = {f"m{pair}": query(pair, measures) for pair in pairs}
    large = {f"x{index}": query(f"x, {pair}") for index, pair in enumerate(pairs)}
    diverse = {f"s{index}": query(some) for index, some in enumerate([*singles, *pairs, *triples])}
    sums = ", ".join(f"sum({name}) AS s_{name}" for name in MORE)
    wide = {"wide": query("a, b, c, d, e, f"), **{f"d{index}": query(pair) for index, pair in enumerate(pairs)}}
    cuts = {f"p{index}": query("a", where=f"WHERE x > {index * 7}") for index in range(100)}
    truths = {
        f"t{index}": query("a", where=f"WHERE pmod(x + {index}, 7) = 3 OR x * {index + 2} > y") for index in range(6)
    }
    sliding = {f"w{step}": query("many", window=f"'{4 * step} seconds', '{step} seconds'") for step in (1, 2, 3)}
    return [
        Probe("few rows", few, single),
        Probe("many rows", many, single),
        Probe("base nodes", many, {f"q{index}": query(pair) for index, pair in enumerate(pairs)}),
        Probe("two base nodes", many, {"qa": query("a"), "qb": query("b")}),
        Probe("apart", many, {f"q{index}": query(pair) for index, pair in enumerate(pairs[:10])}, sharing="nothing"),
        Probe("base nodes, few rows", few, {f"q{index}": query(pair) for index, pair in enumerate(pairs)}),
        Probe("statistics", many, {"one": query("a", measures)}),
        Probe("statistics in base nodes", many, {f"q{pair}": query(pair, measures) for pair in pairs[:6]}),
        Probe("groups", many, {"many": query("many")}),
        Probe("groups, statistics", many, {"many": query("many", measures)}),
        Probe("only groups", many, {"more": query("more", window="'2 seconds'")}),
        Probe("only groups, few rows", few, {"more": query("more", window="'2 seconds'")}),
        Probe("derived nodes", many, wide),
        Probe("derived from many", many, {"many": query("many, a, b"), **{c: query(c) for c in ("a", "b", "many")}}),
        Probe("finished ahead", many, sliding, eager=True),
        Probe("finished ahead, few", few, {c: query(c, window="'8 seconds', '2 seconds'") for c in columns}, True),
        Probe("cuts", many, cuts),
        Probe("predicates", many, truths, sharing="nothing"),
        Probe("alerts", few, alerts, sharing="nothing", by_spark=False),
        Probe("alerts, very few rows", tiny, alerts, sharing="nothing", by_spark=False),
        Probe("alerts of a shape", few, like, sharing="nothing", by_spark=False),
        Probe("alerts together", few, alerts, sharing="auto", by_spark=False),
        Probe("alerts together, very few rows", tiny, alerts, sharing="auto", by_spark=False),
        Probe("small nodes, statistics", tiny, measured, sharing="nothing"),
        Probe("few alerts", few, dict(list(alerts.items())[:8]), sharing="nothing"),
        Probe("large nodes", few, large, sharing="nothing"),
        Probe("conditions", few, {"any": any_of_them}, sharing="nothing"),
        Probe("small nodes", tiny, diverse, sharing="nothing"),
        Probe("small derived nodes", tiny, diverse),
        Probe("columns", tiny, {"sums": query("", sums)}, wide=True),
        Probe("files", tiny, single, files=tiny),
        Probe("a second job", many, {"one": query("a", "max_by(b, y) AS m, min(CAST(x AS string)) AS s")}),
    ]


def write_rows(folder: Path, probe: Probe, number: int) -> list[str]:
    """Write random rows of a tick, in the order of their times; where they are."""
    random, rows = np.random.default_rng(number), probe.rows
    moments = START + number * SPAN + np.arange(rows) * SPAN // rows
    kinds = {**KINDS, **dict.fromkeys(MORE, 1_000)} if probe.wide else KINDS
    codes = {name: random.integers(0, count, rows) for name, count in kinds.items()}
    columns = {name: (code * FAR % (1 << 31)).astype(np.int32) for name, code in codes.items()}
    table = pa.table(
        {
            "ts": pa.array(moments, pa.timestamp("us", tz="UTC")),
            **columns,
            "more": random.integers(0, 1 << 40, rows),
            "x": random.integers(0, 1000, rows).astype(np.int32),
            "y": random.random(rows) * 1000,
        }
    )
    folder.mkdir(parents=True)
    paths = [str(folder / f"{place}.parquet") for place in range(probe.files)]
    size = -(-rows // probe.files)
    for place, path in enumerate(paths):
        pq.write_table(table.slice(place * size, size), path)
    return paths
