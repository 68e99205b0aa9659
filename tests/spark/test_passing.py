"""What may pass is told from what a file is wrong by, whatever words are in its name and content."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import convert_exception
from pyspark.sql import SparkSession

from weft.spark.passing import may_pass

ABORTED = (
    "Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, most recent failure: "
    "Lost task 0.3 in stage 1.0 (TID 7) (127.0.0.1 executor 2): "
)


def thrown(spark: SparkSession, *causes: tuple[str, str]) -> Py4JJavaError:
    """An exception of Java's with its causes, the outermost first."""
    made: Any = None
    for kind, said in reversed(causes):
        found: Any = spark._jvm
        for name in kind.split("."):
            found = getattr(found, name)
        inner, made = made, found(said)
        if inner is not None:
            made.initCause(inner)
    return Py4JJavaError("An error occurred while calling o1.save.\n", made)


STATE = "java.lang.RuntimeException"


@pytest.mark.parametrize("causes", [
    [(STATE, "x"), ("java.io.FileNotFoundException", "/in/1.parquet (Permission denied)")],
    [(STATE, "x"), ("java.nio.file.AccessDeniedException", "/in/1.parquet")],
    [(STATE, "x"), ("java.io.IOException", "No space left on device")],
    [(STATE, "x"), ("java.io.IOException", "/in/1.parquet: Input/output error")],
    [(STATE, "x"), ("java.io.IOException", "Filesystem closed")],
    [(STATE, "x"), ("java.net.ConnectException", "Connection refused")],
    [(STATE, "x"), ("java.net.SocketTimeoutException", "Read timed out")],
    [(STATE, "x"), ("java.net.UnknownHostException", "s3.invalid")],
    [(STATE, "x"), ("java.lang.OutOfMemoryError", "Java heap space")],
    [(STATE, ABORTED + "ExecutorLostFailure (executor 2 exited caused by one of the running tasks) Reason: lost")],
    [(STATE, ABORTED + "java.lang.OutOfMemoryError: Java heap space\n\tat x")],
])
def test_what_is_around_a_file_may_pass(spark: SparkSession, causes: list[tuple[str, str]]) -> None:
    assert may_pass(thrown(spark, *causes))


def test_a_cause_is_found_behind_an_exception_of_pysparks_own(spark: SparkSession) -> None:
    found = thrown(spark, ("java.lang.IllegalArgumentException", "x"), ("java.net.ConnectException", "refused"))
    captured = convert_exception(found.java_exception)
    assert isinstance(captured, PySparkException) and may_pass(captured)


@pytest.mark.parametrize("causes", [
    [(STATE, "file:/in/x-OutOfMemoryError.parquet is not a Parquet file. Expected magic number at tail")],
    [(STATE, "CSV header does not conform to the schema.\n Header: ts, No space left on device\n Schema: ts, k")],
    [(STATE, "Header: Job aborted due to stage failure: a: Lost task 0.0 in stage 1.0 (TID 1) (h): FetchFailed")],
    [(STATE, ABORTED + "java.lang.RuntimeException: /in/ExecutorLostFailure is not a Parquet file")],
    [(STATE, "No space left on device")],
    [("java.io.IOException", "Could not read footer for file /in/No space left on device/1.parquet")],
    [("java.io.IOException", "FileNotFoundException")],
])
def test_what_a_file_says_does_not(spark: SparkSession, causes: list[tuple[str, str]]) -> None:
    assert not may_pass(thrown(spark, *causes))


def test_what_python_says_does_not() -> None:
    assert not may_pass(PySparkException("column 'OutOfMemoryError' is int, and the stream declares string"))
