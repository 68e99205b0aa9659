"""The Spark session that Weft starts when it is given none, and the settings that its batches need in any."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.spark.java import ensure_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("weft.spark")

# Jobs here are small and many, and their sizes are known: what helps large unknown ones only costs time.
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
    # Spark holds one micro-batch at a time; with as much again for Python, 10,000 queries stay under 4 GB.
    "spark.driver.memory": "2g",
    # The address of the machine may be unreachable or change; everything local talks over loopback.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def is_running() -> bool:
    """Whether this process has Spark running already; then a new session would be the same one."""
    from pyspark import SparkContext

    return SparkContext._active_spark_context is not None


def local_session(folder: Path, settings: dict[str, str] | None = None) -> SparkSession:
    """A session on this machine's cores; what Spark leaves lying about goes under `folder`."""
    ensure_java(folder)
    from pyspark.sql import SparkSession

    cores = str(os.cpu_count() or 1)
    chosen = {
        **LOCAL_SETTINGS,
        **BATCH_SETTINGS,
        "spark.sql.shuffle.partitions": cores,
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        **(settings or {}),
    }
    builder = SparkSession.builder.master(chosen.pop("spark.master", "local[*]")).appName("weft")
    for key, value in chosen.items():
        builder = builder.config(key, value)
    ours = not is_running()
    session = builder.getOrCreate()
    if ours:
        ignore_termination(session)
    session.sparkContext.setLogLevel("FATAL")
    # Where Spark was running already, the session is that one, with the settings that it was started with.
    warn_of_open_doors(session)
    return session


def ignore_termination(session: SparkSession) -> None:
    """Let Java live on when its whole group is told to end, as systemd does: the tick that is under way needs it.

    Java ends when this process does, whose end of the pipe between them closes then.
    """
    jvm: Any = session._jvm
    jvm.sun.misc.Signal.handle(jvm.sun.misc.Signal("TERM"), jvm.sun.misc.SignalHandler.SIG_IGN)


def open_doors(session: SparkSession) -> dict[str, str]:
    """The settings of a session that leave a door open, as they should be; empty for one that Weft started."""
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


_warned: set[str] = set()
