"""Options and settings of Spark's file source that would lose rows: Weft sets them so that none are lost, or refuses them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import weft
from tests.engine.bad_input import DDL, J, lines

DAY = 86_400


def arrive(file: Path, n: int, *, days_ago: int = 0) -> None:
    """A file with one row that was written so long ago, as `cp -p` or rsync bring it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    hidden = file.with_name("." + file.name)
    hidden.write_bytes(lines(J.replace("5", str(n))))
    written = hidden.stat().st_mtime - days_ago * DAY
    os.utime(hidden, (written, written))
    hidden.rename(file)


@pytest.mark.parametrize(
    ("options", "total"),
    [({}, 1111), ({"maxFileAge": "60d"}, 1011), ({"MAXFILEAGE": "1h", "maxFilesPerTrigger": 1}, 1)],
)
def test_a_file_counts_however_long_ago_it_was_written(
    tmp_path: Path, spark: SparkSession, options: dict[str, object], total: int
) -> None:
    """Unless the stream says how old a file may be: by itself, Spark passes over those of a week ago without a word."""
    with weft.Engine(tmp_path / "state", spark=spark) as engine:
        engine.add_stream("s", source="json", path=tmp_path / "in", schema=DDL, event_time="ts", options=options)
        query = engine.register("SELECT sum(n) AS total FROM s", name="q")
        arrive(tmp_path / "in" / "new", 1)
        engine.run_available()
        for place, days in enumerate((30, 365, 45)):
            arrive(tmp_path / "in" / f"old {place}", 10 ** (place + 1), days_ago=days)
            engine.run_available()
        assert query.result().to_pylist() == [{"total": total}]
        engine.run_available()
        assert query.result().to_pylist() == [{"total": total}]
