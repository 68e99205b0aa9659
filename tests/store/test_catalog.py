"""What each method of a transaction does; every test runs on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event

from weft.errors import EngineError, StateError
from weft.plan.placement import Placement
from weft.segments.segment import EARLIEST, SegmentRow
from weft.store.catalog import TICKS_KEPT, Catalog, Writer
from weft.store.definition import QueryDefinition
from weft.store.records import AggregateRow, LayoutRow, NodeRow, QueryRow, StreamRow, TickRow

MINUTE = timedelta(minutes=1)
Segment = Callable[..., SegmentRow]


def stream(name: str = "packets", **definition: Any) -> StreamRow:
    return StreamRow(name=name, definition=definition)


def query(name: str, **columns: Any) -> QueryRow:
    row: dict[str, Any] = {"stream": "packets", "sql": "SELECT 1", "definition": QueryDefinition(mark="1")}
    return QueryRow(name=name, **{**row, **columns})


def node(id: str, **columns: Any) -> NodeRow:
    row: dict[str, Any] = {"stream": "packets", "definition": {}, "created_batch": 0}
    return NodeRow(id=id, **{**row, **columns})


def tick(batch_id: int, **columns: Any) -> TickRow:
    row: dict[str, Any] = {"stream": "packets", "checkpoint": "c1", "offsets_digest": f"d{batch_id}"}
    return TickRow(batch_id=batch_id, **{**row, **columns})


def test_a_new_catalog_is_empty(catalog: Catalog) -> None:
    with catalog.read() as tx:
        assert tx.revision() == 0
        assert not (tx.streams() or tx.queries() or tx.aggregates() or tx.nodes() or tx.layouts() or tx.segments())
        assert not (tx.ticks() or tx.tick_log("packets") or tx.garbage())
        assert tx.stream("packets") is tx.query("q") is tx.tick("packets") is None


def test_rows_come_back_as_they_were_put(catalog: Catalog, clock: Any) -> None:
    full = query(
        "q", sql="SELECT 'ü 🧵 \"'", from_batch=7, complete_from=-(2**62), status="failed", status_detail="why"
    )
    sealed = node("n2", complete_from=2**62, sealed_batch=9, sealed_time=2**61)
    with catalog.write() as tx:
        tx.put_stream(stream(schema={"b": "int", "a": "string"}))
        tx.put_queries([full, query("p")])
        tx.put_aggregate(AggregateRow(name="gcd", definition={"lift": "x"}))
        tx.put_nodes([sealed, node("n1")])
        tx.keep_layouts([LayoutRow(id="l", definition={"columns": []})])
        tx.put_tick(tick(3, watermark=5, max_event_time=-6, totals={"rows": 2**60}), detail={"seconds": 0.5})
    with catalog.read() as tx:
        assert tx.streams() == (replace(stream(schema={"b": "int", "a": "string"}), created_at=clock.now),)
        assert list(tx.streams()[0].definition["schema"]) == ["b", "a"]
        assert tx.queries() == tuple(replace(row, created_at=clock.now) for row in (query("p"), full))
        assert tx.query("q") == tx.queries()[1]
        assert tx.aggregates() == (AggregateRow(name="gcd", definition={"lift": "x"}),)
        assert tx.nodes() == (node("n1"), sealed)
        assert tx.nodes()[0].sealed_time == EARLIEST
        assert tx.layouts() == (LayoutRow(id="l", definition={"columns": []}),)
        assert tx.tick("packets") == tick(3, watermark=5, max_event_time=-6, totals={"rows": 2**60})
        logged = tx.logged_tick("packets", 3)
        assert logged is not None and (logged.digest, logged.watermark, logged.detail) == ("d3", 5, {"seconds": 0.5})


def test_rows_are_sorted_by_code_point_whatever_the_locale(catalog: Catalog) -> None:
    names = ["b", "B", "a", "_", "ä", "A-1", "A1", "🧵"]
    with catalog.write() as tx:
        tx.put_queries(query(name) for name in names)
    with catalog.read() as tx:
        assert [row.name for row in tx.queries()] == sorted(names)


def test_a_stream_is_replaced_and_keeps_its_birthday(catalog: Catalog, clock: Any) -> None:
    born = clock.now
    with catalog.write() as tx:
        tx.put_stream(stream(version=1))
    clock.advance(MINUTE)
    with catalog.write() as tx:
        tx.put_stream(stream(version=2))
        assert tx.streams() == (replace(stream(version=2), created_at=born),)


@pytest.mark.parametrize(
    "change",
    [
        lambda tx: tx.put_stream(stream("other")),
        lambda tx: tx.put_queries([query("new")]),
        lambda tx: tx.update_queries({"q": {"status": "running"}}),
        lambda tx: tx.delete_query("q"),
        lambda tx: tx.put_aggregate(AggregateRow(name="b", definition={})),
        lambda tx: tx.bump_revision(),
        lambda tx: (tx.put_queries([query("new")]), tx.delete_query("new"), tx.bump_revision()),
    ],
)
def test_a_change_to_what_is_registered_bumps_the_revision_once(
    catalog: Catalog, change: Callable[[Writer], object]
) -> None:
    with catalog.write() as tx:
        tx.put_stream(stream())
        tx.put_queries([query("q")])
        tx.put_aggregate(AggregateRow(name="a", definition={}))
        assert tx.revision() == 1
    with catalog.write() as tx:
        change(tx)
        assert tx.bump_revision() == 2
    with catalog.read() as tx:
        assert tx.revision() == 2


def test_nothing_else_bumps_the_revision(catalog: Catalog, segment: Segment) -> None:
    with catalog.write() as tx:
        tx.put_node(node("n1"))
        tx.keep_layouts([LayoutRow(id="l", definition={})])
        tx.add_segments([segment("a")])
        tx.put_tick(tick(0))
        tx.add_garbage(["b"])
        tx.delete_nodes(["n1"])
        tx.put_queries([])
        tx.update_queries({})
        assert not tx.delete_query("none")
        assert tx.revision() == 0


def test_a_query_name_is_taken_once(catalog: Catalog) -> None:
    with catalog.write() as tx:
        tx.put_queries([query("q", sql="SELECT 'first'")])
    for rows in ([query("p"), query("q")], [query("r"), query("r")]):
        with pytest.raises(EngineError) as refused, catalog.write() as tx:
            tx.put_queries(rows)
        assert refused.value.code == "query-exists"
        assert repr(rows[1].name) in refused.value.message
    with catalog.read() as tx:
        assert [(row.name, row.sql) for row in tx.queries()] == [("q", "SELECT 'first'")]
        assert tx.revision() == 1


def test_queries_are_changed_column_by_column(catalog: Catalog) -> None:
    with catalog.write() as tx:
        tx.put_queries(query(name, from_batch=1) for name in "abc")
    with catalog.write() as tx:
        tx.update_queries(
            {
                "a": {"status": "running", "complete_from": 5},
                "b": {"status": "failed", "status_detail": "x", "from_batch": None},
                "gone": {"status": "running", "complete_from": 6},
                "c": {},
            }
        )
    with catalog.read() as tx:
        a, b, c = tx.queries()
    assert (a.status, a.complete_from, a.from_batch, a.definition) == ("running", 5, 1, QueryDefinition(mark="1"))
    assert (b.status, b.status_detail, b.from_batch) == ("failed", "x", None)
    assert (c.status, c.from_batch) == ("registered", 1)


def test_ten_thousand_queries_go_in_and_out_in_a_few_statements(catalog: Catalog) -> None:
    """Many at a time: a statement for each of them would be ten thousand ways to the database and back."""
    statements: list[str] = []
    event.listen(catalog._engine, "before_cursor_execute", lambda _c, _k, statement, *_: statements.append(statement))
    definition = QueryDefinition(timedelta(days=7), mark="5" * 32, placement=Placement("a tree"))
    rows = [query(f"q{i:05}", sql="SELECT saddr, sum(length) " * 5, definition=definition) for i in range(10_000)]
    with catalog.write() as tx:
        tx.put_queries(rows)
    with catalog.write() as tx:
        tx.update_queries({row.name: {"status": "running", "from_batch": 1} for row in rows})
    assert len(statements) < 100
    with catalog.read() as tx:
        found = tx.queries()
    assert len(found) == 10_000
    assert {row.status for row in found} == {"running"}
    with catalog.write() as tx:
        assert tx.delete_queries(row.name for row in rows) == 10_000
        assert tx.queries() == ()


def test_queries_nodes_and_segments_are_found_by_stream(catalog: Catalog, segment: Segment) -> None:
    with catalog.write() as tx:
        tx.put_queries([query("a"), query("b", stream="bids")])
        tx.put_nodes([node("n1"), node("n2"), node("n3", stream="bids")])
        stored = tx.add_segments([segment("x", node="n3"), segment("z"), segment("y", node="n2")])
        assert [row.path for row in stored] == ["x", "z", "y"]
        assert tx.segments() == stored
        assert [row.path for row in tx.segments(stream="packets")] == ["z", "y"]
        assert [row.path for row in tx.segments(nodes=["n2", "n3"])] == ["x", "y"]
        assert [row.path for row in tx.segments(stream="bids", nodes=["n2", "n3"])] == ["x"]
        assert tx.segments(nodes=[]) == () == tx.segments(stream="none")
        assert [row.name for row in tx.queries(stream="bids")] == ["b"]
        assert [row.id for row in tx.nodes("packets")] == ["n1", "n2"]


def test_many_segments_at_once(catalog: Catalog, segment: Segment) -> None:
    with catalog.write() as tx:
        stored = tx.add_segments(segment(f"p{i}", node=f"n{i}") for i in range(5000))
    with catalog.write() as tx:
        assert tx.segments(nodes=[f"n{i}" for i in range(5000)]) == stored
        assert len(tx.remove_segments(row.id for row in stored[1:] if row.id is not None)) == 4999
        assert tx.segments() == stored[:1]
        assert len(tx.garbage()) == 4999


def test_a_removed_segment_becomes_garbage_until_it_is_forgotten(
    catalog: Catalog, clock: Any, segment: Segment
) -> None:
    with catalog.write() as tx:
        first, second = (row.id or 0 for row in tx.add_segments([segment("a"), segment("b")]))
        assert tx.remove_segments([first]) == ("a",)
    clock.advance(MINUTE)
    with catalog.write() as tx:
        tx.remove_segments([second])
        tx.add_garbage(["a"])  # known: it keeps its age
        assert tx.segments() == ()
    with catalog.read() as tx:
        assert tx.garbage() == ("a", "b")
        assert tx.garbage(older_than=MINUTE) == ("a",)
        assert tx.garbage(older_than=2 * MINUTE) == ()
    with catalog.write() as tx:
        tx.forget_garbage(["a", "unknown"])
        assert tx.garbage() == ("b",)


def test_a_file_that_is_written_again_is_no_garbage(catalog: Catalog, segment: Segment) -> None:
    with catalog.write() as tx:
        tx.add_garbage(["a", "b"])
    with catalog.write() as tx:
        tx.add_segments([segment("a")])
        assert tx.garbage() == ("b",)


def test_segment_ids_are_never_given_twice(catalog: Catalog, segment: Segment) -> None:
    with catalog.write() as tx:
        (before,) = tx.add_segments([segment("a")])
        tx.remove_segments([before.id or 0])
        (after,) = tx.add_segments([segment("b")])
    assert (after.id or 0) > (before.id or 0)


def test_a_merge_that_lost_an_input_is_not_published(catalog: Catalog, segment: Segment) -> None:
    with catalog.write() as tx:
        ids = [row.id or 0 for row in tx.add_segments([segment("a"), segment("b")])]
    with catalog.write() as tx:
        tx.remove_segments(ids[:1])
    with pytest.raises(StateError) as refused, catalog.write() as tx:
        tx.add_segments([segment("ab", kind="block", rank=1)])
        tx.remove_segments(ids)
    assert refused.value.code == "segments-changed"
    with catalog.read() as tx:
        assert [row.path for row in tx.segments()] == ["b"]


def test_a_path_belongs_to_one_segment(catalog: Catalog, segment: Segment) -> None:
    with catalog.write() as tx:
        tx.add_segments([segment("a")])
    with pytest.raises(StateError) as refused, catalog.write() as tx:
        tx.add_segments([segment("b"), segment("a")])
    assert refused.value.code == "catalog-conflict"
    with catalog.read() as tx:
        assert [row.path for row in tx.segments()] == ["a"]


def test_dropping_a_node_frees_its_files(catalog: Catalog, segment: Segment) -> None:
    with catalog.write() as tx:
        tx.put_nodes([node("n1"), node("n2")])
        tx.add_segments([segment("a"), segment("b", node="n2")])
        tx.put_node(node("n1", sealed_batch=4))  # replaced: the segments stay
        assert len(tx.segments(nodes=["n1"])) == 1
        tx.delete_nodes(["n1", "unknown"])
        assert [row.id for row in tx.nodes()] == ["n2"]
        assert [row.path for row in tx.segments()] == ["b"]
        assert tx.garbage() == ("a",)


def test_layouts_that_no_segment_has_are_dropped(catalog: Catalog, segment: Segment) -> None:
    with catalog.write() as tx:
        tx.keep_layouts(LayoutRow(id=id, definition={}) for id in "abc")
        tx.put_node(node("n1"))
        tx.add_segments([segment("one", node="n1", layout="b")])
        tx.forget_layouts()
        assert [row.id for row in tx.layouts()] == ["b"]


def test_the_tick_log_keeps_the_last_thousand(catalog: Catalog) -> None:
    with catalog.write() as tx:
        tx.put_tick(tick(0, stream="bids"))
        for batch_id in range(TICKS_KEPT + 5):
            tx.put_tick(tick(batch_id))
        assert [row.batch_id for row in tx.tick_log("packets")] == list(range(5, TICKS_KEPT + 5))
        assert tx.logged_tick("packets", 4) is None
        assert len(tx.tick_log("bids")) == 1


@pytest.mark.parametrize("batch_id", [4, 5])
def test_a_tick_follows_only_an_older_one(catalog: Catalog, batch_id: int) -> None:
    with catalog.write() as tx:
        tx.put_tick(tick(5))
    with pytest.raises(StateError) as refused, catalog.write() as tx:
        tx.put_tick(tick(batch_id))
    assert refused.value.code == "tick-not-newer"
    assert refused.value.hint


def test_an_adopted_checkpoint_starts_the_log_anew(catalog: Catalog) -> None:
    with catalog.write() as tx:
        for batch_id in range(3):
            tx.put_tick(tick(batch_id))
        tx.adopt_checkpoint("packets")
    with catalog.write() as tx:
        tx.put_tick(tick(3, checkpoint="c2", offsets_digest="other"))
        assert [(row.batch_id, row.digest) for row in tx.tick_log("packets")] == [(3, "other")]
        assert tx.tick("packets") == tick(3, checkpoint="c2", offsets_digest="other")


def test_a_tick_of_another_checkpoint_is_refused_unless_it_is_adopted(catalog: Catalog) -> None:
    with catalog.write() as tx:
        tx.put_tick(tick(2))
    with pytest.raises(StateError) as refused, catalog.write() as tx:
        tx.put_tick(tick(3, checkpoint="c2"))
    assert refused.value.code == "checkpoint-replaced"
    with catalog.read() as tx:
        assert tx.tick("packets") == tick(2)


def test_an_error_in_the_block_undoes_all_of_it(catalog: Catalog, segment: Segment) -> None:
    with pytest.raises(KeyboardInterrupt), catalog.write() as tx:
        tx.put_stream(stream())
        tx.put_queries([query("q")])
        tx.add_segments([segment("a")])
        raise KeyboardInterrupt
    with catalog.read() as tx:
        assert tx.revision() == 0
        assert not (tx.streams() or tx.queries() or tx.segments())
    with catalog.write() as tx:  # and the catalog goes on
        tx.put_stream(stream())


def test_a_read_sees_one_moment(catalog: Catalog) -> None:
    with catalog.read() as before:
        with catalog.write() as tx:
            tx.put_queries([query("q")])
            with catalog.read() as during:
                assert during.queries() == ()
        assert before.queries() == ()
        assert before.revision() == 0
    with catalog.read() as after:
        assert len(after.queries()) == after.revision() == 1


def test_a_write_inside_a_write_is_refused_and_does_not_hang(catalog: Catalog) -> None:
    with pytest.raises(EngineError) as refused, catalog.write(), catalog.write():
        pass
    assert refused.value.code == "nested-write"
    with catalog.write() as tx:
        tx.put_queries([query("q")])


def test_a_transaction_ends_with_its_block(catalog: Catalog) -> None:
    with catalog.write() as tx:
        pass
    with pytest.raises(Exception, match="closed"):
        tx.put_queries([query("q")])


def test_a_second_catalog_on_the_same_url_sees_the_same(catalog: Catalog, url: str) -> None:
    with catalog.write() as tx:
        tx.put_queries([query("q")])
    other = Catalog(url)
    with other.write() as tx:
        assert [row.name for row in tx.queries()] == ["q"]
        tx.delete_query("q")
    other.close()
    with catalog.read() as tx:
        assert tx.queries() == ()
