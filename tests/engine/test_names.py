"""Names that users give never meet the names that Weft uses inside, whatever they are."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import weft
from tests.engine.harness import write_tick

INSIDE = ["start", "late", "level", "tick", "column0", "end", "part0", "finished", "counted_value", "counted_rows", "up_to", "total", "batch", "rows", "n", "Select", "a b",
          "x`y", 'x"y', "{part0}", "é", "value", "o", "p", "v"]
TIME = "Time.Stamp `UTC`"
SECOND = 1_000_000


def rows(first: int) -> pa.Table:
    moments = pa.array([(first + second) * SECOND for second in range(20)], pa.timestamp("us", tz="UTC"))
    numbers = {name: pa.array([(second * (place + 1)) % 7 for second in range(20)], pa.int64())
               for place, name in enumerate(INSIDE)}
    return pa.table({TIME: moments, **numbers})


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> weft.Engine:
    folder: Path = tmp_path_factory.mktemp("names")
    schema = ", ".join([f"{quoted(TIME)} timestamp", *(f"{quoted(name)} bigint" for name in INSIDE)])
    with weft.Engine(folder / "state", spark=spark) as engine:
        engine.add_stream("s", source="parquet", path=folder / "in", schema=schema, event_time=TIME.lower(),
                          options={"maxFilesPerTrigger": 1})
    # Opened again: what was kept of the names is read back.
    engine = weft.Engine(folder / "state", spark=spark)
    window = f"window({quoted(TIME)}, '10 seconds', '5 seconds')"
    for name in INSIDE:
        column = quoted(name)
        inside = (f"SELECT {column}, sum({column}) AS `window`, count(DISTINCT {column}) AS d, last({column}) AS z FROM s "
                  f"WHERE {column} > 0 AND {column} <> 3")
        engine.register(f"{inside} GROUP BY {window}, {column} ORDER BY {column}", name=f"windows of {name}")
        engine.register(f"SELECT `n` AS k, sum({column}) AS {column} FROM s GROUP BY `n`", name=f"totals of {name}")
    for tick, first in enumerate((0, 20, 40)):
        write_tick(folder / "in", tick, rows(first))
    engine.run_available()
    return engine


@pytest.mark.parametrize("name", INSIDE)
def test_a_column_may_have_any_name(engine: weft.Engine, name: str) -> None:
    place = INSIDE.index(name) + 1
    found = engine.query(f"windows of {name}").result(end="1970-01-01T00:00:50")
    values = [(second % 20 * place) % 7 for second in range(40, 50)]
    assert found.column_names == ["window_start", "window_end", name, "window", "d", "z"]
    assert found[name].to_pylist() == sorted({value for value in values if value not in (0, 3)})
    assert found["window"].to_pylist() == [value * values.count(value) for value in found[name].to_pylist()]


@pytest.mark.parametrize("name", INSIDE)
def test_a_result_may_have_any_name(engine: weft.Engine, name: str) -> None:
    query = engine.query(f"totals of {name}")
    found = query.result()
    assert found.column_names == ["k", name]
    place = INSIDE.index(name) + 1
    expected = sum((second * place) % 7 for second in range(20)) * 3
    assert sum(found[name].to_pylist()) == expected
    changed = query.changes(since=1)
    # A column of the user's keeps its name, and that of the tick makes way.
    lead = "weft_tick" if name == "tick" else "tick"
    assert changed.column_names == [lead, "k", name] and sum(changed.column(2).to_pylist()) == expected


def test_names_that_weft_uses_itself_are_refused(engine: weft.Engine) -> None:
    with pytest.raises(weft.StreamError) as refusal:
        engine.add_stream("t", source="parquet", path="in", schema="ts timestamp, Weft_Moment int", event_time="ts")
    assert refusal.value.code == "bad-name" and refusal.value.hint
