"""Every kernel makes the same partial rows of random queries over random rows, in every form that a query may have."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from random import Random
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.engine.oracle import unmatched
from tests.engine.queries import query_set
from tests.engine.rows import DDL, as_table, random_ticks
from tests.few import few
from weft.aggregates.catalog import AggregateCatalog
from weft.backend.driver import DriverBackend, TableRows
from weft.backend.duck import Duck
from weft.errors import SqlError
from weft.feeds.streams import Stream
from weft.passes.kernel import kernel_of_process
from weft.passes.maker import pass_over
from weft.plan.needs import Needs, analyse
from weft.plan.network import Network, Node, build_network
from weft.plan.placement import AT_HOME, Placement
from weft.plan.prices import DUCKDB
from weft.segments.kept import MOMENT
from weft.segments.rows import row_schema
from weft.spark import kernels
from weft.spark.batch import BatchOutput, aggregate, project
from weft.spark.kernels import Level0
from weft.spark.render import spark_sql
from weft.sql.bind import compile_query
from weft.sql.ddl import parse_schema
from weft.store.derive import in_one_piece

FIRST = int(os.environ.get("WEFT_SEED", "0"))
STREAM = Stream("s", parse_schema(DDL), "ts", timedelta(0))
FORMS = (Placement(), Placement(matches=True), Placement("own", matches=True), Placement(truths=True))


@pytest.fixture(scope="module")
def backend() -> Iterator[DriverBackend]:
    duck = Duck()
    yield DriverBackend(duck, None, None)  # type: ignore[arg-type]
    duck.close()


def needs_of(sql: str, form: Placement) -> Needs | None:
    """What a query needs; None for a query that Weft refuses."""
    catalog = AggregateCatalog()
    try:
        return analyse(compile_query(sql, {"s": STREAM.schema}, catalog), catalog, form)
    except SqlError:
        return None


def random_network(seed: int, sets: int = 3) -> Network:
    random = Random(f"kernels {seed}")
    queries = {}
    for number in range(sets):
        for place, query in enumerate(query_set(Random(f"kernels {seed} set {number}"))):
            needs = needs_of(query.weft("s"), random.choice(FORMS))
            if needs is not None:
                queries[f"q{number}_{place}"] = needs
    return build_network("s", queries)


def rows_of(network: Network, node: Node, output: BatchOutput, backend: DriverBackend) -> list[tuple[Any, ...]]:
    """A node's partial rows; of a match only the statistics that it keeps."""
    rows = in_one_piece(backend, node, backend.hold(output.partials[node.id]), 0)
    assert isinstance(rows, TableRows) and rows.table.schema.equals(row_schema(node.dimensions, node.statistics))
    kept = {
        match.number: {statistic.name for statistic in match.statistics}
        for match in dict(network.matches).get(node.matches or "", ())
    }
    unkept = {statistic.name for statistic in node.statistics} if kept else set()
    return [
        tuple(
            plain(value) if name not in unkept or name in kept[row[str(node.matches)]] else None
            for name, value in row.items()
        )
        for row in rows.table.to_pylist()
    ]


def plain(value: Any) -> Any:
    """A value as it is compared: the parts of a struct as text, and both zeros the same."""
    if isinstance(value, dict):
        return str([part + 0.0 if isinstance(part, float) else part for part in value.values()])
    return value


def agree(network: Network, one: BatchOutput, other: BatchOutput, backend: DriverBackend) -> None:
    assert (one.rows, one.dead, one.newest) == (other.rows, other.dead, other.newest)
    for node in (*network.base, *network.counters):
        missing, extra = unmatched(*(rows_of(network, node, output, backend) for output in (one, other)))
        labels = [str(dimension) for dimension in node.dimensions], [str(kept) for kept in node.statistics]
        assert not missing and not extra, f"{labels}: missing {missing[:3]}, extra {extra[:3]}"


def batch(spark: SparkSession, table: pa.Table, partitions: int) -> Any:
    return project(spark.createDataFrame(table).repartition(partitions), STREAM)


@pytest.mark.parametrize("seed", few(range(FIRST, FIRST + 24), 3))
def test_kernels_agree(spark: SparkSession, backend: DriverBackend, seed: int) -> None:
    """Kernels share no line that computes a value, and no node differs by more than the last digits of a double."""
    random = Random(f"kernels {seed}")
    size = random.choice([0, 40, 700]) if seed % 8 == 7 else 700
    rows = random_ticks(
        random, ticks=1, size=max(size, 2), span=timedelta(seconds=200), delay=timedelta(seconds=3)
    ).rows[0][:size]
    network = random_network(seed)
    frame = batch(spark, as_table(rows), random.choice([1, 3]))
    expected = aggregate(frame, Level0(network), 0)
    for in_driver in (True, False):
        output = aggregate(frame, Level0(network, DUCKDB, in_driver=in_driver), 0)
        agree(network, output, expected, backend)
        assert output.kernel == DUCKDB, "the pass left the batch to Spark"


def test_pieces_of_a_task_are_merged(spark: SparkSession, backend: DriverBackend) -> None:
    """A task whose rows come in many pieces makes several partial rows of a group, which are merged."""
    network = build_network(
        "s",
        {
            "sums": analysed("SELECT k, count(*) AS n, sum(i) AS t FROM s GROUP BY window(ts, '10 seconds'), k"),
            "matches": analysed(
                "SELECT count(*) AS n FROM s WHERE i > 3 AND k = 'a' GROUP BY window(ts, '10 seconds')",
                Placement(matches=True),
            ),
        },
    )
    rows = random_ticks(Random(5), ticks=1, size=500, span=timedelta(seconds=60), delay=timedelta(seconds=1)).rows[0]
    frame = batch(spark, as_table(rows), 1)
    with patch.object(kernels, "TASK_SETTINGS", {"spark.sql.execution.arrow.maxRecordsPerBatch": "50"}), \
            patch.object(kernels, "PIECE_ROWS", 100):
        several = aggregate(frame, Level0(network, DUCKDB, in_driver=False), 0)
    assert several.in_pieces
    agree(network, several, aggregate(frame, Level0(network), 0), backend)


def test_the_pieces_of_a_task_share_its_room() -> None:
    """Each finds room by itself; together they would be as much as the driver was to be kept from."""
    work = pass_over(build_network("s", {"groups": analysed("SELECT i, k, count(*) AS n FROM s GROUP BY i, k")}), spark_sql)
    rows = pa.table({"i": pa.array(range(1_000), pa.int32()), "k": ["a"] * 1_000})
    piece = pa.table({MOMENT: pa.array(range(1_000)), **{alias: rows[name] for alias, name in work.plain.items()}})
    one = kernel_of_process(1).run(work, piece).bytes
    assert len(list(kernels._answers(work, 5 * one, [piece] * 5))) == 5
    with pytest.raises(kernels.Crowded):
        list(kernels._answers(work, 5 * one - 1, [piece] * 5))


def analysed(sql: str, form: Placement = AT_HOME) -> Needs:
    needs = needs_of(sql, form)
    assert needs is not None
    return needs
