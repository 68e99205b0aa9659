"""A process that opens a state folder and says, in seconds since it was started, when it was ready for what.

Usage: python -m tests.faults.restart started folder [input]

Reads the newest window of a hundred queries; then, if there is an input, starts Spark and runs what has arrived.
Prints a JSON object a line: what was done, after how many seconds, and a digest of what was read.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import weft

READS = 100


def digest(table: Any) -> str:
    """The same for the same rows, in whatever order they come."""
    rows = sorted(json.dumps(row, default=str, sort_keys=True) for row in table.to_pylist())
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def chosen(names: list[str]) -> list[str]:
    """A hundred of the queries, from all over."""
    return sorted(names)[:: max(1, len(names) // READS)][:READS]


def main(started: float, folder: Path, source: Path | None) -> None:
    def say(what: str, **more: Any) -> None:
        print(json.dumps({"what": what, "seconds": round(time.time() - started, 2), **more}), flush=True)

    say("imported")
    with weft.Engine(folder) as engine:
        say("opened", queries=len(engine.queries()))
        names = chosen([query.name for query in engine.queries()])
        first = engine.query(names[0]).result()
        say("first result", digest=digest(first), rows=first.num_rows)
        tables = [engine.query(name).result() for name in names]
        say("results", count=len(tables), digest=digest_all(tables), rows=sum(table.num_rows for table in tables))
        assert not engine._session.is_open, "no Spark so far"
        if source is not None:
            before = engine.metrics()["streams"]["packets"]["batch_id"]
            engine.spark  # noqa: B018
            say("spark started")
            engine.run_available()
            after = engine.metrics()["streams"]["packets"]["batch_id"]
            assert after > before
            say("new tick committed", batch_id=after)


def digest_all(tables: list[Any]) -> str:
    return hashlib.sha256(" ".join(map(digest, tables)).encode()).hexdigest()


if __name__ == "__main__":
    main(float(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]) if len(sys.argv) > 3 else None)
