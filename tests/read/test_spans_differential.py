"""Random queries over random rows with NULLs, late and out of order: asked once, over any span and late, they answer what
the same queries answer that were registered before the first row."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

import weft
import weft.testing
from tests.engine.oracle import difference
from tests.engine.queries import EPOCH, MICROSECOND, Hop, RandomQuery, query_set
from tests.engine.rows import DDL, Ticks, as_table, random_ticks
from tests.few import few
from tests.read.keeping import feed_and_keep

DELAY = timedelta(seconds=5)


def stream_of(random: Random) -> Ticks:
    return random_ticks(random, ticks=4, size=240, span=timedelta(seconds=120), delay=DELAY, late=0.15)


def portable_queries(random: Random, engine: weft.Engine, most: int) -> list[RandomQuery]:
    made = [query for _ in range(6) for query in query_set(random)]
    return [query for query in made if weft.testing.is_portable(engine, query.weft("s"))][:most]


def some_span(random: Random, ticks: Ticks) -> Hop:
    """A window that no query has, as tumbling windows of which it is one."""
    moments = sorted((row["ts"] - EPOCH) // MICROSECOND for row in ticks.all if row["ts"] is not None)
    first, last = sorted(random.sample(moments, 2))
    unit = random.choice([1, 1_000_000, 5_000_000])
    begin = first // unit * unit
    length = max(unit, (last - begin) // unit * unit)
    return Hop(length, length, begin % length)


def engines(folder: Path) -> tuple[weft.Engine, weft.Engine]:
    made = weft.testing.engine(folder / "whole"), weft.testing.engine(folder / "part")
    for engine in made:
        weft.testing.add_stream(engine, "s", schema=DDL, event_time="ts", watermark="5 seconds")
        weft.testing.stay(engine, "s")
    return made


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("seed", few(range(12), 3))
def test_asked_once_is_registered_from_the_start(tmp_path: Path, seed: int, kept: bool) -> None:
    random = Random(f"asked {seed}")
    ticks = stream_of(random)
    whole, part = engines(tmp_path)
    with whole, part:
        queries = portable_queries(random, whole, 14)
        whole.register_all({f"q{number}": query.weft("s") for number, query in enumerate(queries)})
        part.register_all({f"q{number}": query.weft("s") for number, query in enumerate(queries) if number % 3 == 0})
        answered = 0
        for rows in ticks.rows:
            weft.testing.feed(whole, "s", as_table(rows))
            (feed_and_keep if kept else weft.testing.feed)(part, "s", as_table(rows))
            for number, query in enumerate(queries):
                answered += asked(whole.query(f"q{number}"), part, query, random, kept=kept)
        assert answered > len(queries)
        assert not part._session.is_open


def asked(registered: weft.ContinuousQuery, engine: weft.Engine, query: RandomQuery, random: Random, *, kept: bool) -> int:
    """Compare what is asked now and of a past moment with what the registered query answers; tells how often it could."""
    if registered.status == "failed":
        return 0
    watermark, moments = engine.state_of("s").watermark, [None]
    if query.window is not None and watermark is not None:
        moments.append(EPOCH + (watermark - random.randrange(40_000_000)) * MICROSECOND)
    answered = 0
    for at in moments:
        try:
            answer = engine.ask(query.weft("s"), at=at)
        except weft.EngineError as error:
            assert error.code == "not-held" and not kept, error
            continue
        expected = registered.result() if at is None else registered.result(end=query.window.newest_end(at))
        problem = difference(answer, expected, ordered=False)
        assert not problem, f"{query.weft('s')} at {at}\n{engine.ask(query.weft('s'), at=at, explain=True)}\n{problem}"
        answered += 1
    return answered


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("seed", few(range(12), 3))
def test_any_span_is_a_window_of_a_query_registered_from_the_start(tmp_path: Path, seed: int, kept: bool) -> None:
    random = Random(f"spans {seed}")
    ticks = stream_of(random)
    spans = [some_span(random, ticks) for _ in range(4)]
    whole, part = engines(tmp_path)
    with whole, part:
        queries = [query for query in portable_queries(random, whole, 12) if query.window is not None]
        texts = {
            f"q{number}w{place}": replace(query, window=span).weft("s")
            for number, query in enumerate(queries) for place, span in enumerate(spans)
        }
        whole.register_all(texts)
        part.register_all({f"q{number}": query.weft("s") for number, query in enumerate(queries)})
        for rows in ticks.rows:
            weft.testing.feed(whole, "s", as_table(rows))
            (feed_and_keep if kept else weft.testing.feed)(part, "s", as_table(rows))
        answered = 0
        for number in range(len(queries)):
            for place, span in enumerate(spans):
                answered += spanned(part.query(f"q{number}"), whole.query(f"q{number}w{place}"), span, ticks, kept=kept)
        assert answered or not kept


def spanned(
    query: weft.ContinuousQuery, registered: weft.ContinuousQuery, span: Hop, ticks: Ticks, *, kept: bool
) -> int:
    end = span.newest_end(ticks.watermark)
    if "failed" in (query.status, registered.status):
        return 0
    try:
        answer = query.result(begin=end - span.range * MICROSECOND, end=end)
    except weft.EngineError as error:
        assert error.code == "not-held" and not kept, error
        return 0
    problem = difference(answer, registered.result(end=end), ordered=False)
    assert not problem, f"{registered.sql}\n{problem}"
    return 1


@pytest.mark.parametrize("seed", few(range(16), 4))
def test_registered_late_over_kept_rows_is_registered_from_the_start(tmp_path: Path, seed: int) -> None:
    random = Random(f"late {seed}")
    ticks = random_ticks(random, ticks=6, size=300, span=timedelta(seconds=120), delay=DELAY, late=0.15)
    whole, part = engines(tmp_path)
    with whole, part:
        queries = portable_queries(random, whole, 14)
        names = [f"q{number}" for number in range(len(queries))]
        whole.register_all({name: query.weft("s") for name, query in zip(names, queries, strict=True)})
        for number, rows in enumerate(ticks.rows):
            # Some from the start, some late; what is there already may lack what they need.
            fresh = [place for place in range(len(queries)) if place % 5 == number]
            part.register_all({names[place]: queries[place].weft("s") for place in fresh}, eager=bool(seed % 2))
            weft.testing.feed(whole, "s", as_table(rows))
            feed_and_keep(part, "s", as_table(rows))
            if random.random() < 0.5:
                weft.testing.wait_for_filling(part, "s")
        weft.testing.wait_for_filling(part, "s")
        for name, query in zip(names, queries, strict=True):
            compare_filled(part.query(name), whole.query(name), query)
        compare_changes(part, whole, [name for name, query in zip(names, queries, strict=True) if query.window is None])


def compare_filled(filled: weft.ContinuousQuery, whole: weft.ContinuousQuery, query: RandomQuery) -> None:
    assert filled.status == whole.status
    if whole.status == "failed":
        return
    answer, expected = (each.results() if query.window else each.result() for each in (filled, whole))
    problem = difference(answer, expected, ordered=False)
    assert not problem, f"{query.weft('s')}\n{filled.metrics()}\n{problem}"
    assert filled.complete_from == whole.complete_from


def compare_changes(part: weft.Engine, whole: weft.Engine, totals: list[str]) -> None:
    for name in totals:
        for since in (-1, 1, 3):
            changes, expected = (engine.query(name).changes(since=since) for engine in (part, whole))
            assert not (problem := difference(changes, expected, ordered=False)), problem
