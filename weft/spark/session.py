"""The Spark session that Weft starts when it is given none, and the settings that its batches need in any."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from weft.spark.java import ensure_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Jobs here are small and many, and their sizes are known: what helps large unknown ones only costs time.
BATCH_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.codegen.maxFields": "400",
    "spark.sql.variable.substitute": "false",
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "100000",
}

LOCAL_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.sql.codegen.cache.maxEntries": "1000",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
    "spark.sql.streaming.minBatchesToRetain": "100",
    "spark.sql.restrictedMode.enabled": "true",
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.locality.wait": "0s",
    "spark.driver.memory": "4g",
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
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("FATAL")
    return session
