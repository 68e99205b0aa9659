"""Two workloads beside those of the table: alerts of every kind of condition, and top lists."""

from __future__ import annotations

import random

from benchmarks.diverse_queries import MINUTE, SECOND, Asked
from benchmarks.diverse_rows import COLUMNS, KINDS


def _atom(choose: random.Random) -> str:
    """One condition of many kinds."""
    column = choose.randrange(COLUMNS)
    kinds = KINDS[column]
    some = sorted(choose.sample(range(kinds), 3))
    return choose.choice(
        (
            f"c{column} = {choose.randrange(kinds)}",
            f"c{column} IN ({', '.join(str(value) for value in some)})",
            f"c{column} NOT IN ({', '.join(str(value) for value in some)})",
            f"host LIKE '{choose.choice(('web', 'db', 'cache', 'queue'))}-{choose.randrange(10)}'",
            f"host LIKE '{choose.choice(('web', 'db', 'cache', 'queue'))}%'",
            f"path LIKE '%/{choose.choice(('a', 'b', 'list'))}'",
            f"(c{column} = {choose.randrange(kinds)} OR v > {choose.randrange(900, 990)})",
            f"size + c{column} * 1000 > {choose.randrange(60_000, 110_000)}",
            f"v * 2 - d0 > {choose.randrange(1_500, 1_990)}",
            f"d0 + d1 > {choose.randrange(20) / 10}",
            f"size BETWEEN {choose.randrange(40_000)} AND {choose.randrange(50_000, 90_000)}",
            f"c{column} % {choose.randrange(2, 6)} = 1",
            "d1 IS NULL",
            "c4 IS NOT NULL",
        )
    )


def mixed_alerts(count: int = 500, seed: int = 21) -> dict[str, Asked]:
    """Alerts of two to four conditions, most without a group-by, some by doubles and texts that may be NULL."""
    choose = random.Random(seed)
    keys = [(), (), (), (), ("d0",), ("d1",), ("host",), ("c1",), ("d0", "c1"), ("path", "d1")]
    measures = ["count(*) AS n", "sum(v) AS s", "max(size) AS largest", "avg(d0) AS mean", "min(v) AS low",
                "sum(size) AS bytes"]
    found = {}
    for place in range(count):
        where = " AND ".join(_atom(choose) for _ in range(choose.randint(2, 4)))
        chosen = ", ".join(choose.sample(measures, choose.randint(1, 3)))
        length = choose.choice((30 * SECOND, MINUTE, MINUTE, 5 * MINUTE))
        found[f"mixed_{place}"] = Asked(chosen, where, choose.choice(keys), length)
    return found


def top_lists(count: int = 100, seed: int = 22) -> dict[str, Asked]:
    """The first groups of a window by one measure, of the groups that another lets through."""
    choose = random.Random(seed)
    found = {}
    for place in range(count):
        keys = tuple(f"c{column}" for column in sorted(choose.sample(range(COLUMNS), choose.randint(1, 2))))
        order = choose.choice(("n DESC NULLS LAST", "high DESC NULLS LAST", "t DESC NULLS LAST", "n ASC NULLS FIRST"))
        found[f"top_{place}"] = Asked(
            f"count(*) AS n, max(v) AS high, sum(c{choose.randrange(COLUMNS)}) AS t",
            f"v > {choose.randrange(0, 900, 50)}" if choose.random() < 0.5 else "",
            keys,
            having=f"count(*) > {choose.randrange(1, 5)}",
            # In full: the groups that are listed follow from it, and from nothing else.
            order=", ".join((order, *keys)),
            limit=choose.choice((3, 5, 10)),
        )
    return found
