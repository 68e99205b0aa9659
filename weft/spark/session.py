"""The Spark session that Weft starts when the user brings none, and the settings that batches need in any session."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.spark.failure import JAVA_GONE
from weft.spark.java import ensure_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("weft.spark")

# Jobs here are small and many, and their sizes are known: what helps large unknown jobs only costs time.
BATCH_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.codegen.maxFields": "400",
    "spark.sql.variable.substitute": "false",
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "100000",
    # Groups that its quick hash map has room for, as a power of two: 65,536 are too few for a column of ids.
    "spark.sql.codegen.aggregate.fastHashMap.capacityBit": "18",
}

# The zone of Weft under its other names.
SAME_AS_UTC = frozenset({"UTC", "Etc/UTC", "Z", "+00:00", "GMT", "Etc/GMT", "Etc/UCT", "UCT", "Universal", "Zulu"})

# Doors that nothing of Weft goes through. Its SQL is written by itself, of functions on a list; these hold should that
# ever fail: no Java by reflection, no programs, no files as tables, and nobody who looks on.
CLOSED_DOORS = {
    "spark.sql.restrictedMode.enabled": "true",
    "spark.sql.runSQLOnFiles": "false",
    "spark.ui.enabled": "false",
}

LOCAL_SETTINGS = {
    **CLOSED_DOORS,
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.sql.codegen.cache.maxEntries": "1000",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
    "spark.sql.streaming.minBatchesToRetain": "100",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.locality.wait": "0s",
    # Spark holds a single micro-batch at a time; with as much again for Python, 10,000 queries stay under 4 GB.
    "spark.driver.memory": "2g",
    # The address of the machine may be unreachable or change; everything local talks over loopback.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def is_running() -> bool:
    """Whether this process has Spark running already; then a new session would be the same session."""
    from pyspark import SparkContext

    return SparkContext._active_spark_context is not None


def local_session(folder: Path, settings: dict[str, str] | None = None) -> SparkSession:
    """A session on this machine's cores; what Spark leaves lying about goes under `folder`.

    Where Spark runs in this process already, a session of its own there.
    """
    cores = str(os.cpu_count() or 1)
    chosen = {
        **LOCAL_SETTINGS,
        **BATCH_SETTINGS,
        "spark.sql.shuffle.partitions": cores,
        # Spark looks at the files of a batch in a task each, though only so many tasks run at a time.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": cores,
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        **(settings or {}),
    }
    if is_running():
        return _session_beside(chosen, settings or {})
    ensure_java(folder)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(chosen.pop("spark.master", "local[*]")).appName("weft")
    for key, value in chosen.items():
        builder = builder.config(key, value)
    starts_spark = not is_running()
    session = builder.getOrCreate()
    if starts_spark:
        ignore_termination(session)
    session.sparkContext.setLogLevel("FATAL")
    return session


def _session_beside(chosen: Mapping[str, str], asked: Mapping[str, str]) -> SparkSession:
    """A session of its own on the Spark that runs already, which may be somebody else's: that session stays as it is.

    Settings of a session are set for this session; the log says which of the settings that were asked for cannot be.
    """
    from pyspark.sql import SparkSession

    running = SparkSession.builder.getOrCreate()
    session = SparkSession(running.sparkContext, running._jsparkSession.cloneSession())
    for key, value in chosen.items():
        if session.conf.isModifiable(key):
            session.conf.set(key, value)
    context = session.sparkContext.getConf()
    unheard = {key: value for key, value in asked.items()
               if not session.conf.isModifiable(key) and context.get(key) != value}
    if unheard:
        log.warning("spark runs already with other settings", extra={"settings_unheard": unheard})
    warn_of_open_doors(session)
    return session


def ignore_termination(session: SparkSession) -> None:
    """Let Java live on when its whole group is told to end, as systemd does: the tick that is under way needs it.

    Java ends when this process does, whose end of the pipe between them closes then.
    """
    jvm: Any = session._jvm
    jvm.sun.misc.Signal.handle(jvm.sun.misc.Signal("TERM"), jvm.sun.misc.SignalHandler.SIG_IGN)


class _Started:
    """The Spark that an engine of this process started: it ends with the last of the engines that use it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.session: SparkSession | None = None
        self.engines = 0
        # What Spark leaves lying about, where no state folder takes it.
        self.scratch: tempfile.TemporaryDirectory[str] | None = None

    def is_of(self, session: SparkSession) -> bool:
        """Whether a session is of this Spark."""
        return self.session is not None and session.sparkContext is self.session.sparkContext

    def end(self) -> None:
        ended, scratch = self.session, self.scratch
        self.session, self.scratch, self.engines = None, None, 0
        # A Java that died has nothing to stop, and must not keep the rest open.
        with suppress(*JAVA_GONE):
            if ended is not None:
                ended.stop()
        if scratch is not None:
            scratch.cleanup()


_started = _Started()


def start_for_engine(folder: Path | None, settings: Mapping[str, str]) -> SparkSession:
    """Start the session of an engine that was handed none, and enter it; Spark's leftovers go under `folder`.

    Without a folder they go into a temporary folder that is removed when Spark ends.
    """
    # Workers must be the same Python as the driver, whatever `python3` is on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with _started.lock:
        if is_running():
            beside = local_session(Path(), dict(settings))
            enter(beside)
            return beside
        if folder is None:
            _started.scratch = tempfile.TemporaryDirectory(prefix="weft-", ignore_cleanup_errors=True)
            folder = Path(_started.scratch.name)
        _started.session, _started.engines = local_session(folder / "spark", dict(settings)), 1
        return _started.session


def enter(session: SparkSession) -> None:
    """Note that an engine uses a session; whoever enters leaves."""
    with _started.lock:
        if _started.is_of(session):
            _started.engines += 1


def leave(session: SparkSession) -> None:
    """Note that an engine uses a session no more; ends a Spark that an engine started when nobody uses it."""
    with _started.lock:
        if _started.is_of(session):
            _started.engines -= 1
            if _started.engines <= 0:
                _started.end()


def open_doors(session: SparkSession) -> dict[str, str]:
    """The settings of a session that leave a door open, as they should be; empty for a session that Weft started."""
    context = session.sparkContext.getConf()
    # What nobody set has Spark's own default, and by default all of them are open.
    return {
        key: closed
        for key, closed in CLOSED_DOORS.items()
        if (session.conf.get(key, None) or context.get(key, "true" if closed == "false" else "false")) != closed
    }


def warn_of_open_doors(session: SparkSession) -> None:
    """Say once a session which doors it leaves open."""
    open_ = open_doors(session)
    name = session.sparkContext.applicationId
    if open_ and name not in _warned:
        _warned.add(name)
        log.warning("spark session with open doors", extra={"application": name, "settings_wanted": open_})


def warn_of_time_zone(session: SparkSession) -> None:
    """Say once a session that Weft computes in another zone than the session has."""
    zone = session.conf.get("spark.sql.session.timeZone", "UTC") or "UTC"
    known = f"{session.sparkContext.applicationId} in {zone}"
    if zone not in SAME_AS_UTC and known not in _warned:
        _warned.add(known)
        log.warning("spark session in another time zone", extra={"session_zone": zone, "computed_in": "UTC"})


_warned: set[str] = set()
