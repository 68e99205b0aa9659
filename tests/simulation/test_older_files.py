"""A state whose tables are a file each, as before format 5, is read on and run on; new small tables share files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.simulation.test_longer_names import QUERIES, answers, tick
from tests.simulation.world import World
from weft.store import change

FORMAT_4 = Path(__file__).parents[1] / "store" / "formats" / "4.sqlite.sql"

COLUMNS = "id, node, layout, path, kind, family, rank, batch_from, batch_to, time_from, time_to, rows, bytes, checksum, plan"


def make_older(world: World) -> None:
    """Leave the catalog as a Weft of format 4 would have it."""
    made = re.search(r"CREATE TABLE segments \(.*?\n\);", FORMAT_4.read_text(encoding="utf-8"), re.DOTALL)
    assert made is not None
    with world.engine.catalog._exclusive() as connection:
        for statement in (
            "ALTER TABLE segments RENAME TO newer_segments",
            "DROP INDEX ix_segments_node",
            made[0],
            f"INSERT INTO segments SELECT {COLUMNS} FROM newer_segments",
            "DROP TABLE newer_segments",
            "CREATE INDEX ix_segments_node ON segments (node)",
            "UPDATE meta SET value = '4' WHERE key = 'format'",
            "DELETE FROM meta WHERE key = 'sums'",
        ):
            connection.execute(text(statement))


def test_a_state_with_a_file_for_each_table_goes_on(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.run(QUERIES)
    with monkeypatch.context() as before:
        before.setattr(change, "SMALL_BYTES", -1)
        for number in range(12):
            tick(world, number)
        told = answers(world)
        make_older(world)
        world.forget()
    assert answers(world) == told and all(told.values())
    for number in range(12, 24):
        tick(world, number)
    after = answers(world)
    for name in ("sliding", "eager"):
        assert after[name][: len(told[name])] == told[name]
    assert sum(row["n"] for row in after["totals"]) == 24 * 6  # type: ignore[index]
    with world.engine.catalog.read() as reader:
        paths = [segment.path for segment in reader.segments()]
    shared = [path for path in paths if path.endswith(".arrows")]
    assert len(shared) > len(set(shared)) and len(shared) < len(paths), "files of before are still there"
