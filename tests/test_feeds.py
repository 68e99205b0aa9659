"""Feeds: a stream is one, and a query that stands on more than ticks can answer is refused when it is registered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import weft
from weft.aggregates.catalog import AggregateCatalog
from weft.algebra.query import Query
from weft.algebra.windows import Clock
from weft.feeds.feed import Feed, stream_of
from weft.feeds.streams import Stream, define_stream
from weft.sql import bind
from weft.sql.bind import compile_query

COLUMNS = "ts timestamp, k string"


def stream(name: str) -> Stream:
    return define_stream(
        name, source="rate", path=None, schema=COLUMNS, dataframe=None, event_time="ts", watermark="3 seconds", options=None
    )


@dataclass(frozen=True)
class Other:
    """A feed of another kind, over the rows of streams."""

    like: Stream
    streams: tuple[str, ...]
    clock: Clock = Clock.EVENT_TIME

    @property
    def name(self) -> str:
        return self.like.name

    @property
    def schema(self) -> object:
        return self.like.schema

    @property
    def delay(self) -> int:
        return self.like.delay


FEEDS: dict[str, Feed] = {name: stream(name) for name in ("a", "b")}


def compiled(sql: str) -> Query:
    return compile_query(sql, {name: feed.schema for name, feed in FEEDS.items()}, AggregateCatalog())


def of_both() -> Query:
    """A query of two blocks, which no SQL gives yet."""
    first, second = (compiled(f"SELECT count(*) AS n FROM {name}") for name in ("a", "b"))
    return replace(first, blocks=(*first.blocks, *second.blocks))


def test_a_stream_is_a_feed() -> None:
    feed: Feed = stream("a")
    assert (feed.name, feed.delay, feed.clock, feed.streams) == ("a", 3_000_000, Clock.EVENT_TIME, ("a",))
    assert list(feed.schema.columns) == ["ts", "k"]
    assert stream_of(compiled("SELECT count(*) AS n FROM b"), FEEDS) == "b"


@pytest.mark.parametrize("other", [Other(stream("a"), ("a", "b")), Other(stream("a"), ("a",), Clock.TICKS)])
def test_what_the_ticks_of_one_stream_cannot_answer_is_refused(other: Feed) -> None:
    query = compiled("SELECT count(*) AS n FROM a GROUP BY window(ts, '1 second')")
    with pytest.raises(weft.SqlError) as refused:
        stream_of(query, {**FEEDS, "a": other})
    assert refused.value.code == "unsupported-clause" and refused.value.hint
    assert stream_of(query, {**FEEDS, "a": Other(stream("a"), ("b",))}) == "b"


def test_a_query_of_several_feeds_is_refused_and_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with weft.Engine(tmp_path / "state") as engine:
        for name in ("a", "b"):
            engine.add_stream(name, source="rate", schema=COLUMNS, event_time="ts")
        with pytest.raises(weft.SqlError) as joined:
            engine.register("SELECT count(*) AS n FROM a JOIN b ON a.k = b.k", name="q")
        monkeypatch.setattr(bind, "compile_query", lambda *_: of_both())
        with pytest.raises(weft.SqlError) as refused:
            engine.register("SELECT count(*) AS n FROM a", name="q")
        assert refused.value.code == joined.value.code == "unsupported-clause" and "a, b" in refused.value.message
        assert engine.queries() == []
