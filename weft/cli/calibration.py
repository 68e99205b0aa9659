"""Calibration: a few minutes' work that shows what things cost here, and the prices that explain it best.

Small engines run over random rows, every engine heavy in another thing: many base nodes, many statistics, many
groups, many derived nodes, many windows finished ahead, many cuts. Every tick is an equation, what was done times
unknown prices is the seconds that it took; the prices are the non-negative numbers with the least relative error.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from weft.engine import Engine
from weft.plan.blocks import FAN_OUT
from weft.plan.cost import DUCKDB, KERNELS, SPARK, Costs
from weft.spark.arrived import SparkBatch
from weft.spark.batch import project
from weft.spark.checkpoint import BatchMark
from weft.spark.kernels import MOST_DIRECT_ROWS
from weft.spark.parquet_files import ParquetFiles, found

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "ts timestamp, a int, b int, c int, d int, e int, f int, many int, more bigint, x int, y double"
KINDS = {"a": 3, "b": 4, "c": 5, "d": 6, "e": 7, "f": 8, "many": 20_000}
START = 1_700_000_000_000_000
SPAN = 20_000_000
# Which prices explain which stages of a tick; what is left of a stage with nothing to do is the price of a tick.
EXPLAINED: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        ("spark",),
        (
            *("job", "read", "test", "group", "key", "measure", "out"),
            *("begin", "carry", "load", "seek", "line", "put", "look", "hand"),
        ),
    ),
    (("merge",), ("derive",)),
    (("commit", "tend", "sweep"), ("node", "store")),
    (("finish",), ("family", "visit")),
    (("plan", "learn", "mend"), ()),
)
# The first ticks of an engine compile code and fill caches; every so many ticks blocks are sealed.
WARM_UP, MEASURED = 2, FAN_OUT


# The ways in which the rows of each probe are aggregated: by which kernel, and whether it reads their file by itself.
WAYS = ((SPARK, False), (DUCKDB, False), (DUCKDB, True))


@dataclass(frozen=True)
class Probe:
    """Queries that are heavy in a single thing, and how many rows a tick of these queries has.

    Each is run by every kernel.
    """

    name: str
    rows: int
    queries: Mapping[str, str]
    eager: bool = False
    sharing: str = "everything"


@dataclass(frozen=True)
class Observation:
    """A tick: what it did, by what it asks of every node, and the seconds that it took."""

    probe: str
    amounts: Mapping[str, float]
    stages: Mapping[str, float]

    @property
    def seconds(self) -> float:
        return sum(self.stages.values())


@dataclass(frozen=True)
class Calibration:
    """The prices, the ticks that they come from, and by which factor they are off: in the median, and at worst."""

    costs: Costs
    observations: tuple[Observation, ...]
    error: float
    worst: float


def probes(scale: float = 1.0) -> list[Probe]:
    """The workloads that calibration runs."""

    def query(group: str, what: str = "count(*) AS n", window: str = "'10 seconds'", where: str = "") -> str:
        by = ", ".join(part for part in (f"window(ts, {window})", group) if part)
        return f"SELECT {', '.join(filter(None, (group, what)))} FROM rows {where} GROUP BY {by}"

    few, many = round(100_000 * scale), round(1_000_000 * scale)
    columns = "abcdef"
    pairs = [f"{first}, {second}" for index, first in enumerate(columns) for second in columns[index + 1 :]]
    measures = ", ".join(
        [f"{kind}({column}) AS {kind}_{column}" for kind in ("sum", "min", "max", "avg") for column in ("x", "y", "a")]
    )
    single = {"one": query("a")}
    alerts = {
        f"a{index}": query("", where=f"WHERE {columns[index % 6]} = {index % 3} AND x > {900 + index % 90} AND y > 500")
        for index in range(60)
    }
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
        Probe("alerts", few, alerts, sharing="nothing"),
        Probe("a second job", many, {"one": query("a", "max_by(b, y) AS m, min(CAST(x AS string)) AS s")}),
    ]


def calibrate(
    spark: SparkSession, *, scale: float = 1.0, progress: Callable[[str], None] = lambda name: None
) -> Calibration:
    """Measure, and fit the prices."""
    observations: list[Observation] = []
    with tempfile.TemporaryDirectory(prefix="weft-calibrate-") as folder:
        chosen = probes(scale)
        # Java compiles what it runs often: the first engines of all would be slower than what follows.
        for kernel in KERNELS:
            list(_observe(spark, Path(folder) / f"warm-{kernel}", chosen[2], kernel))
        for index, probe in enumerate(chosen):
            progress(probe.name)
            for kernel, direct in WAYS:
                place = Path(folder) / f"{index}-{kernel}-{direct}"
                observations += _observe(spark, place, probe, kernel, direct=direct)
                shutil.rmtree(place, ignore_errors=True)
    return fit(observations)


def fit(observations: list[Observation]) -> Calibration:
    """The prices with the least relative error over all ticks."""
    prices = {"tick": 0.0}
    seconds = np.array([tick.seconds for tick in observations])
    for stages, names in EXPLAINED:
        taken = np.array([sum(tick.stages.get(stage, 0.0) for stage in stages) for tick in observations])
        columns = [[1.0, *(tick.amounts.get(name, 0.0) for name in names)] for tick in observations]
        rest, *solved = _least_squares(np.array(columns) / seconds[:, None], taken / seconds)
        prices["tick"] += float(rest)
        prices |= dict(zip(names, map(float, solved), strict=True))
    costs = Costs(**prices)
    ratios = [costs.price(tick.amounts) / tick.seconds for tick in observations]
    factors = [max(ratio, 1 / ratio) for ratio in ratios]
    return Calibration(costs, tuple(observations), float(median(factors)), float(max(factors)))


def _least_squares(matrix: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The non-negative solution with the least squared error, unknown by unknown until nothing moves."""
    scales = np.linalg.norm(matrix, axis=0)
    used = scales > 0
    scaled = matrix[:, used] / scales[used]
    product, aim = scaled.T @ scaled, scaled.T @ target
    solution = np.zeros(scaled.shape[1])
    for _ in range(20_000):
        before = solution.copy()
        for index in range(len(solution)):
            rest = aim[index] - product[index] @ solution + product[index, index] * solution[index]
            solution[index] = max(0.0, rest / product[index, index])
        if np.abs(solution - before).max() < 1e-12:
            break
    unscaled = np.zeros(matrix.shape[1])
    unscaled[used] = solution / scales[used]
    return unscaled


def _observe(
    spark: SparkSession, folder: Path, probe: Probe, kernel: str, *, direct: bool = False
) -> Iterator[Observation]:
    """The measured ticks of the engine of a probe."""
    with Engine(folder / "state", spark=spark, sharing=probe.sharing, kernel=kernel) as engine:
        engine.add_stream("rows", source="parquet", path=folder / "in", schema=SCHEMA, event_time="ts")
        engine.register_all(dict(probe.queries), eager=probe.eager)
        ticker = engine._runners.ticker("rows")
        for number in range(WARM_UP + MEASURED):
            path = folder / f"{number}.parquet"
            _write_rows(path, probe.rows, number)
            mark = BatchMark("calibration", number, str(number))
            rows = spark.read.schema(SCHEMA).parquet(str(path))
            batch = SparkBatch(project(rows, ticker.stream), mark, ticker.stream)
            ticker.run(FileBatch(batch.rows, mark, ticker.stream, file=str(path)) if direct else batch)
            if number >= WARM_UP and ticker.last is not None:
                yield Observation(probe.name, ticker.last.amounts, ticker.last.seconds)


@dataclass(frozen=True)
class FileBatch(SparkBatch):
    """A batch of a single file that a pass reads by itself."""

    file: str = ""

    def _parquet_files(self) -> ParquetFiles | None:
        return found(self.stream, [f"file://{self.file}"], round(time.time() * 1000), MOST_DIRECT_ROWS)


def _write_rows(path: Path, rows: int, number: int) -> None:
    """Write random rows of a tick, in the order of their times."""
    random = np.random.default_rng(number)
    moments = START + number * SPAN + np.arange(rows) * SPAN // rows
    columns = {name: random.integers(0, kinds, rows).astype(np.int32) for name, kinds in KINDS.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        pa.table(
            {
                "ts": pa.array(moments, pa.timestamp("us", tz="UTC")),
                **columns,
                "more": random.integers(0, 1 << 40, rows),
                "x": random.integers(0, 1000, rows).astype(np.int32),
                "y": random.random(rows) * 1000,
            }
        ),
        path,
    )
