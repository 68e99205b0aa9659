"""Ask Spark again for everything under tests/sql/recorded: `python -m tests.sql.record_spark`.

The files hold what Spark 4.3 says (with ANSI rules, in UTC) about the type, the grouping and the name of expressions.
Run this by hand when Spark's version changes (minutes), and read the difference; the tests themselves need no Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "recorded"
COLUMNS = ("y_ tinyint, h_ smallint, i_ int, l_ bigint, f_ float, d_ double, m_ decimal(10,2), w_ decimal(38,10), "
           "s_ string, b_ boolean, a_ date, t_ timestamp")


def read(name: str) -> dict[str, str]:
    """What was recorded: expression to answer, `!` where Spark refuses."""
    lines = (RECORDED / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    found = dict(line.split("\t") for line in lines)
    assert len(found) == len(lines) > 20, f"{name}.tsv is empty or repeats itself"
    return found


def main() -> None:
    from pyspark.sql import SparkSession
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false") \
        .config("spark.sql.session.timeZone", "UTC").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.createDataFrame([], COLUMNS).createOrReplaceTempView("v")
    parser: Any = spark._jsparkSession.sessionState().sqlParser()
    groups = "y_, h_, i_, l_, f_, d_, m_, w_, s_, b_, a_, t_"
    questions: dict[str, Callable[[str], str]] = {
        "types": lambda text: spark.sql(f"SELECT {text} AS r FROM v").schema[0].dataType.simpleString(),
        "precedence": lambda text: str(parser.parseExpression(text).sql()),
        "names": lambda text: spark.sql(f"SELECT {text} FROM v GROUP BY {groups}").columns[0],
    }
    for name, ask in questions.items():
        answers = {text: _answer(ask, text) for text in read(name)}
        (RECORDED / f"{name}.tsv").write_text("".join(f"{text}\t{answer}\n" for text, answer in answers.items()),
                                             encoding="utf-8")
    spark.stop()


def _answer(ask: Callable[[str], str], text: str) -> str:
    try:
        return ask(text)
    except Exception:  # noqa: BLE001 - whatever Spark refuses it with, it refuses
        return "!"


if __name__ == "__main__":
    main()
