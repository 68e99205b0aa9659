"""Calibration: a few minutes' work that shows what things cost here, and the prices that explain it best.

Small engines run probes (weft/cli/probes.py). Every tick is an equation, what was done times unknown prices is the
seconds that it took; the prices are the non-negative numbers with the least relative error.
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

from weft.cli.probes import Probe, probes, write_rows
from weft.engine import Engine
from weft.plan.blocks import FAN_OUT
from weft.plan.prices import KERNELS, Costs
from weft.spark.arrived import SparkBatch
from weft.spark.batch import project
from weft.spark.checkpoint import BatchMark
from weft.spark.kernels import MOST_DIRECT_ROWS
from weft.spark.parquet_files import ParquetFiles, found

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Which prices explain which stages of a tick; what is left of a stage with nothing to do is the price of a tick.
EXPLAINED: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        ("spark",),
        (
            *("job", "read", "test", "group", "key", "measure", "out", "set"),
            *("begin", "take", "carry", "fetch", "load", "file", "column", "seek"),
            *("line", "term", "part", "branch", "put", "look", "compare", "hand"),
        ),
    ),
    (("merge",), ("merge", "derive")),
    (("commit", "tend", "sweep", "tell"), ("node", "store")),
    (("finish",), ("family", "visit")),
    (("open", "plan", "learn", "mend"), ()),
)
# The first ticks of an engine compile code and fill caches; every so many ticks blocks are sealed.
WARM_UP, MEASURED = 2, FAN_OUT


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
            for kernel, direct in probe.ways:
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
        engine.add_stream("rows", source="parquet", path=folder / "in", schema=probe.schema, event_time="ts")
        engine.register_all(dict(probe.queries), eager=probe.eager)
        ticker = engine._runners.ticker("rows")
        for number in range(WARM_UP + MEASURED):
            paths = write_rows(folder / str(number), probe, number)
            mark = BatchMark("calibration", number, str(number))
            rows = spark.read.schema(probe.schema).parquet(*paths)
            batch = SparkBatch(project(rows, ticker.stream), mark, ticker.stream)
            ticker.run(FileBatch(batch.rows, mark, ticker.stream, files=tuple(paths)) if direct else batch)
            if number >= WARM_UP and ticker.last is not None:
                yield Observation(probe.name, ticker.last.amounts, ticker.last.seconds)


@dataclass(frozen=True)
class FileBatch(SparkBatch):
    """A batch of files that a pass reads by itself."""

    files: tuple[str, ...] = ()

    def _parquet_files(self) -> ParquetFiles | None:
        addresses = [f"file://{path}" for path in self.files]
        return found(self.stream, addresses, round(time.time() * 1000), MOST_DIRECT_ROWS)
