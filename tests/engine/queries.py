"""Random queries from a seed, each in two spellings: for Weft, and for batch Spark where that knows another name.

Every query that comes out is one that Spark can answer without an error and with one answer only: nothing overflows,
nothing is divided by zero, ties are broken, and what is compared or sorted by is exact in any order of summing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

EPOCH, MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


@dataclass(frozen=True)
class Sql:
    """One expression in both spellings."""

    weft: str
    spark: str
    # Whether the value is the same whatever the order of the rows, so that HAVING and ORDER BY may use it.
    exact: bool = True


def same(text: str, *, exact: bool = True) -> Sql:
    return Sql(text, text, exact)


def put(pattern: str, *parts: Sql) -> Sql:
    return Sql(pattern.format(*(part.weft for part in parts)), pattern.format(*(part.spark for part in parts)),
               all(part.exact for part in parts))


@dataclass(frozen=True)
class Hop:
    """A window in microseconds."""

    range: int
    slide: int
    start: int = 0

    def __str__(self) -> str:
        parts = [f"'{self.range} microseconds'"]
        if self.start or self.slide != self.range:
            parts.append(f"'{self.slide} microseconds'")
        if self.start:
            parts.append(f"'{self.start} microseconds'")
        return f"window(ts, {', '.join(parts)})"

    def holding(self, moment: datetime) -> list[tuple[datetime, datetime]]:
        """The windows that hold a moment, as [start, end)."""
        at = (moment - EPOCH) // MICROSECOND
        last = (at - self.start) // self.slide * self.slide + self.start
        starts = range(last, at - self.range, -self.slide)
        return [(EPOCH + start * MICROSECOND, EPOCH + (start + self.range) * MICROSECOND) for start in starts]

    def newest_end(self, watermark: datetime) -> datetime:
        """The last end at or before the watermark."""
        at = (watermark - EPOCH) // MICROSECOND - self.range - self.start
        return EPOCH + (at // self.slide * self.slide + self.start + self.range) * MICROSECOND


@dataclass(frozen=True)
class RandomQuery:
    """A query as its parts; `order` names keys that make every row's place certain."""

    window: Hop | None
    groups: tuple[str, ...]
    items: tuple[tuple[str | None, Sql], ...]
    where: str | None = None
    having: Sql | None = None
    order: tuple[Sql, ...] = ()
    limit: int | None = None

    def weft(self, stream: str) -> str:
        """As a user registers it."""
        items = ", ".join(sql.weft + (f" AS {name}" if name else "") for name, sql in self.items)
        text = f"SELECT {items} FROM {stream}" + (f" WHERE {self.where}" if self.where else "") + self._grouped()
        text += f" HAVING {self.having.weft}" if self.having else ""
        text += f" ORDER BY {', '.join(key.weft for key in self.order)}" if self.order else ""
        return text + (f" LIMIT {self.limit}" if self.limit is not None else "")

    def spark(self, view: str, *, until: datetime | None = None, since: datetime | None = None,
              after: datetime | None = None, window: str | None = None) -> str:
        """The same for batch Spark: the limit within each window, and in the query's order.

        Only windows that start from `since` on, end by `until` and end after `after`. With `window` the view has the
        window of every row in a column of that name already.
        """
        lead = ["window.start AS window_start", "window.end AS window_end"] if self.window else []
        items = [sql.spark + (f" AS {name}" if name else "") for name, sql in self.items]
        partition = "PARTITION BY window " if self.window else ""
        order = ", ".join(key.spark for key in self.order)
        place = [f"row_number() OVER ({partition}ORDER BY {order}) AS weft_place"] if self.order else []
        where = f"ts IS NOT NULL AND ({self.where})" if self.where else "ts IS NOT NULL"
        text = f"SELECT {', '.join([*lead, *items, *place])} FROM {view} WHERE {where}{self._grouped(window)}"
        text += f" HAVING {self.having.spark}" if self.having else ""
        bounds = [*([f"window_end <= {_literal(until)}"] if until and self.window else []),
                  *([f"window_start >= {_literal(since)}"] if since and self.window else []),
                  *([f"window_end > {_literal(after)}"] if after and self.window else []),
                  *([f"weft_place <= {self.limit}"] if self.limit is not None else [])]
        text = f"SELECT * FROM ({text})" + (f" WHERE {' AND '.join(bounds)}" if bounds else "")
        return text + (f" ORDER BY {'window_end, ' if self.window else ''}weft_place" if self.order else "")

    def _grouped(self, window: str | None = None) -> str:
        groups = [*([window or str(self.window)] if self.window else []), *self.groups]
        return f" GROUP BY {', '.join(groups)}" if groups else ""


def _literal(moment: datetime) -> str:
    return f"timestamp_micros({(moment - EPOCH) // MICROSECOND})"


GROUPS = ("k", "k", "i", "i", "c", "f", "s", "d", "x", "day", "i % 3", "upper(k)", "length(k)", "coalesce(k, '-')",
          "substring(k, 1, 1)", "concat(k, c)", "CASE WHEN i > 4 THEN 'high' WHEN i IS NULL THEN 'none' ELSE 'low' END",
          "date_trunc('minute', ts)", "minute(at)", "k IS NULL", "cast(y AS int) % 5", "i + s", "t")

# Atoms of predicates: what is compared with constants, what with other columns, and what only Spark understands.
ATOMS = (
    "k = 'a'", "k <> 'b'", "'A' = k", "k IN ('a', '', '日本')", "k NOT IN ('a', 'b')", "k LIKE 'a%'", "k LIKE '%\\\\_'",
    "k RLIKE '^[a-c]'", "k IS NULL", "k IS NOT NULL", "k > 'a'", "k <=> NULL", "lower(k) = 'a'", "length(k) > 1",
    "c IN ('c0', 'c1', 'c2', 'c3')", "c = 'c1'", "k = c", "i = 3", "i <> 3", "i IN (1, 2, 3, NULL)", "i NOT IN (0, 1)",
    "i BETWEEN 2 AND 6", "i > 5", "i >= 5", "3 > i", "i < 2", "i <= 7", "i % 2 = 0", "i + 1 > s", "i IS NULL", "i > 5.5",
    "n > 0", "n = 2147483647", "n > 2147483646", "n <= -2147483648", "n >= -2147483647", "n < 1000000000",
    "b > 250000000000", "b BETWEEN -5 AND 600000000000", "e = 9223372036854775807", "e > -9223372036854775807",
    "e < 9223372036854775807", "e <=> NULL", "x > 1.5", "x < 0.5", "x >= 0.0", "x = 0.0", "x <= -0.5", "x <> 0.0",
    "isnan(x)", "x = double('NaN')", "x > double('Infinity')", "x IS NULL", "x > y", "y > 0", "y BETWEEN -10.5 AND 20.25",
    "z > 99.5", "g > 0.5", "g = 0.25", "d > 1.25", "d = 3.50", "d <= -1", "d IN (1.00, 2.50)", "d BETWEEN -50 AND 50.005",
    "w > 1000.0001", "w IS NOT NULL", "f", "NOT f", "f = true", "f IS NULL", "s > 5", "s = 32767", "s >= -32768",
    "t > 126", "t = 127", "t <> -128", "day = DATE '2026-01-01'", "day >= DATE '2026-01-02'", "day < '2026-01-01'",
    "at > TIMESTAMP '2026-03-02 10:15:00'", "at <= TIMESTAMP '1970-01-01 00:10:00'", "second(ts) < 40", "u % 3 = 1",
    "nullif(i, 3) IS NULL", "coalesce(i, 9) = 9", "CASE WHEN f THEN i > 2 ELSE y < 0 END")

# Arguments by what may be done with them. Sums must not overflow, and doubles must add up exactly to be compared.
SUMMED = ("i", "n", "b", "y", "x", "g", "d", "w", "s", "t", "i * 2 + 1", "length(k)", "cast(d AS double)", "y * 2",
          "CASE WHEN f THEN i ELSE 0 END", "if(k = 'a', y, 0)", "d * 2", "abs(i - 5)", "cast(i AS decimal(6,3))")
COMPARED = (*SUMMED, "k", "c", "e", "day", "at", "ts", "f", "upper(k)", "concat(k, c)", "u", "z")
COUNTED = ("k", "i", "x", "d", "n", "e", "f", "y", "day", "i % 3", "s", "at", "upper(k)")
MEASURED = ("i", "n", "b", "x", "y", "z", "g", "d", "s", "e", "i * 2")
SPREAD = ("i", "y", "z", "g", "d", "s", "t", "x", "n")


class Maker:
    """Makes queries that have much in common: a set draws from a few windows, groups, predicates and arguments."""

    def __init__(self, random: Random, *, odd: bool = False) -> None:
        self._random = random
        self._windows = [self._hop(odd) for _ in range(random.choice([1, 2, 2, 3]))]
        self._groups = random.sample(sorted(set(GROUPS)), 4) + random.choices(GROUPS, k=2)
        self._atoms = random.sample(ATOMS, 6)
        self._odd = odd

    def query(self) -> RandomQuery:
        pick = self._random
        window = None if pick.random() < 0.15 else pick.choice(self._windows)
        groups = tuple(dict.fromkeys(pick.sample(self._groups, pick.choice([0, 1, 1, 1, 2, 2, 3]))))
        # Some columns have no alias, so that Spark's name for them is compared, too.
        items = [(None if pick.random() < 0.1 and "cast" not in group else f"g{place}", same(group))
                 for place, group in enumerate(groups) if pick.random() < 0.95]
        items += [(f"a{place}", self._measure()) for place in range(pick.choice([1, 1, 2, 2, 3]))]
        if window and pick.random() < 0.1:
            items.append(("during", same(pick.choice(["window", "window.start", "window.end"]))))
        pick.shuffle(items)
        having = self._having(groups) if pick.random() < 0.25 else None
        order, limit = self._order(groups) if pick.random() < 0.3 else ((), None)
        return RandomQuery(window, groups, tuple(items), self._where() if pick.random() < 0.65 else None, having, order,
                           limit)

    def _hop(self, odd: bool) -> Hop:
        pick = self._random
        if odd:
            # Slides without a short common period: a table of edges, or progressions that are searched one by one.
            slide = pick.choice([7_000_000, 11_000_000, 13_000_000, 9_100_000, 7_000_001, 11_000_003, 13_000_017])
            return Hop(slide * pick.choice([1, 2, 3]) + pick.choice([0, 0, 1, 3_500_000]), slide, pick.choice([0, 0, 1_250_000]))
        slide = pick.choice([5, 10, 15, 20, 30, 60]) * 1_000_000
        length = pick.choice([slide, slide, slide * 2, slide * 3, slide * 5 // 2, slide + 1_000_000, slide * 4])
        if pick.random() < 0.05:
            slide, length = 3_000_000, 200_000_000
        return Hop(length, slide, pick.choice([0, 0, 0, 2_000_000, 1_500_000]))

    def _where(self) -> str:
        pick = self._random
        atoms = pick.sample(self._atoms, pick.choice([1, 1, 2, 2, 3]))
        text = atoms[0] if pick.random() < 0.8 else f"NOT ({atoms[0]})"
        for atom in atoms[1:]:
            text = f"({text}) {pick.choice(['AND', 'OR'])} ({atom})"
        return text

    def _aggregate(self) -> Sql:
        pick = self._random
        kind = pick.randrange(22)
        if kind < 3:
            return self._filtered(same(pick.choice(["count(*)", f"count({pick.choice(COMPARED)})"])))
        if kind < 6:
            return self._filtered(same(f"sum({pick.choice(SUMMED)})"))
        if kind < 8:
            return self._filtered(same(f"{pick.choice(['avg', 'mean'])}({pick.choice(SUMMED)})"))
        if kind < 11:
            return self._filtered(same(f"{pick.choice(['min', 'max'])}({pick.choice(COMPARED)})"))
        if kind < 13:
            name = pick.choice(["var_pop", "var_samp", "variance", "stddev", "stddev_pop", "stddev_samp", "std"])
            return self._filtered(same(f"{name}({pick.choice(SPREAD)})", exact=False))
        if kind < 14:
            name = pick.choice(["bool_and", "bool_or", "every", "any", "some"])
            return self._filtered(same(f"{name}({pick.choice(['f', 'i > 3', 'k = c'])})"))
        if kind < 16:
            name, order = pick.choice(["min_by", "max_by"]), pick.choice(["u", "ts"])
            return self._filtered(same(f"{name}({pick.choice(COMPARED)}, {order})"))
        if kind < 18:
            name, value = pick.choice(["first", "last", "first_value", "last_value"]), pick.choice(COMPARED)
            by = "min_by" if name.startswith("first") else "max_by"
            return self._filtered(Sql(f"{name}({value})", f"{by}({value}, ts)"))
        if kind < 20:
            name = pick.choice(["count(DISTINCT {})", "min(DISTINCT {})"])
            return self._filtered(same(name.format(pick.choice(COUNTED))))
        if kind < 21:
            value = pick.choice(MEASURED)
            return self._filtered(same(pick.choice(
                [f"median({value})", *(f"percentile({value}, {share})" for share in (0.25, 0.9, 0, 1))]), exact=False))
        value = pick.choice(COUNTED)
        # Of several values that are there most often Weft gives the least, and so does Spark when it is asked to.
        return self._filtered(Sql(f"mode({value})", f"mode({value}, true)"))

    def _filtered(self, aggregate: Sql) -> Sql:
        if self._random.random() > 0.15:
            return aggregate
        atom = self._random.choice(self._atoms)
        return put(f"{{}} FILTER (WHERE {atom.replace('{', '{{').replace('}', '}}')})", aggregate)

    def _measure(self) -> Sql:
        """An aggregate, or a computation over some."""
        pick = self._random
        if pick.random() < 0.7:
            return self._aggregate()
        return pick.choice(COMPUTED)

    def _having(self, groups: tuple[str, ...]) -> Sql:
        pick = self._random
        tests = ["count(*) > 2", "sum(y) > 0", "max(i) IS NOT NULL", "min(i) <= 2 OR count(*) = 1", "avg(d) > 0.5",
                 "NOT bool_or(f)", "max(k) <> 'b'", "count(DISTINCT k) > 1", "sum(i) % 2 = 0"]
        tests += [f"({group}) IS NOT NULL" for group in groups]
        return same(pick.choice(tests))

    def _order(self, groups: tuple[str, ...]) -> tuple[tuple[Sql, ...], int | None]:
        pick = self._random
        ways = ["", " DESC", " ASC NULLS LAST", " DESC NULLS FIRST"]
        first = [one for one in (self._aggregate() for _ in range(pick.choice([0, 1, 2]))) if one.exact]
        keys = [put("{}" + pick.choice(ways), key) for key in (*first, *map(same, groups))]
        return tuple(keys), pick.choice([None, 1, 2, 3, 5]) if keys else None


COMPUTED = tuple(same(text) for text in (
    "sum(y) / nullif(count(y), 0)", "sum(y) * 2 + 1", "CASE WHEN count(*) > 3 THEN max(i) ELSE -1 END",
    "cast(avg(y) AS bigint)", "round(avg(y), 2)", "coalesce(sum(i), 0)", "sum(d) * 2", "sum(d) / nullif(count(d), 0)",
    "abs(min(i) - 5)", "greatest(max(i), min(b))", "cast(count(*) AS string)", "avg(d) + 1", "-sum(i)", "sum(i) % 7",
    "sum(b) div 3", "max(y) - min(y)", "sqrt(abs(sum(y)))", "sum(x) IS NULL", "max(k) = min(k)", "least(min(x), min(y))",
    "if(count(*) > 2, 'many', 'few')", "count(*) + count(DISTINCT i)", "cast(sum(d) AS decimal(30,4))", "max(d) * max(d)",
    "sum(i) / 4", "floor(avg(y))", "ceil(sum(y) / 3)", "count(*) > 2 AND max(i) < 9", "nullif(max(i), 9)", "1 + 1",
    "cast(sum(i) AS double) / nullif(sum(abs(i)), 0)", "sum(i) BETWEEN 3 AND 12", "min(i) IN (0, 1, NULL)"))


def query_set(random: Random) -> list[RandomQuery]:
    """Four to ten queries that are registered together."""
    maker = Maker(random, odd=random.random() < 0.25)
    return [maker.query() for _ in range(random.choice([4, 4, 5, 5, 6, 6, 7, 10]))]
