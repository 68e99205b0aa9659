"""The reading engine reaches nothing but the tables that it is handed, and can be talked into nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from weft.backend.duck import Duck

ROWS = pa.table({"x": [1, 2, 3]})


@pytest.fixture(params=[1, 2])
def duck(request: pytest.FixtureRequest) -> Iterator[Duck]:
    opened = Duck(threads=request.param)
    yield opened
    opened.close()


def setting(duck: Duck, name: str) -> object:
    return duck.run(f"SELECT current_setting('{name}') AS value", {}).column("value")[0].as_py()


def test_it_is_closed(duck: Duck) -> None:
    assert setting(duck, "enable_external_access") is False
    assert setting(duck, "lock_configuration") is True
    assert setting(duck, "python_enable_replacements") is False
    assert setting(duck, "autoinstall_known_extensions") is False
    assert setting(duck, "autoload_known_extensions") is False
    assert setting(duck, "allow_community_extensions") is False
    assert setting(duck, "temp_directory") == ""
    assert setting(duck, "threads") in (1, 2)


def test_its_clock_is_that_of_utc_in_every_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    opened = Duck()
    with ThreadPoolExecutor(2) as pool:
        zones = list(pool.map(lambda _: setting(opened, "TimeZone"), range(4)))
    opened.close()
    assert set(zones) == {"UTC"}


def test_its_memory_is_bounded(duck: Duck) -> None:
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    number, unit = str(setting(duck, "memory_limit")).split()
    assert float(number) * {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}[unit] <= physical * 0.41


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM '{canary}'",
        "SELECT * FROM read_text('{canary}')",
        "SELECT * FROM read_csv('{canary}')",
        "SELECT * FROM read_blob('{canary}')",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM read_parquet('http://169.254.169.254/x.parquet')",
        "SELECT getenv('WEFT_CANARY')",
        "COPY t TO '{folder}/out.csv'",
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "ATTACH '{folder}/other.db'",
        "EXPORT DATABASE '{folder}/dump'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "LOAD '{canary}'",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SET memory_limit = '1TB'",
        "SET threads = 64",
        "RESET enable_external_access",
        "PRAGMA enable_external_access = true",
        "SELECT * FROM ROWS",
        "SELECT * FROM secret_table",
        "CREATE SECRET s (TYPE s3)",
    ],
)
def test_no_statement_reaches_out(duck: Duck, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sql: str) -> None:
    secret_table = pa.table({"c": ["canary-of-python"]})
    canary = tmp_path / "canary.csv"
    canary.write_text("canary-of-the-disk\n")
    monkeypatch.setenv("WEFT_CANARY", "canary-of-the-environment")
    with pytest.raises((duckdb.Error, AttributeError)) as refused:
        duck.run(sql.format(canary=canary, folder=tmp_path), {"t": ROWS})
    assert "canary-of" not in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == ["canary.csv"]
    assert secret_table.num_rows == 1
    assert duck.run("SELECT sum(x) AS n FROM t", {"t": ROWS}).to_pylist() == [{"n": 6}]
