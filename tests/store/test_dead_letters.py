"""Files of dead letters in the catalog: put once however often, gone into garbage; SQLite and PostgreSQL."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from weft.errors import StateError
from weft.store.catalog import Catalog
from weft.store.records import DeadLetterRow, TickRow


def letter(path: str, **columns: Any) -> DeadLetterRow:
    row: dict[str, Any] = {"stream": "packets", "batch_id": 1, "rows": 3, "bytes": 100, "checksum": "blake2b:00"}
    return DeadLetterRow(path=path, **{**row, **columns})


def test_dead_letters_come_back_by_stream_oldest_first(catalog: Catalog, clock: Any) -> None:
    with catalog.write() as tx:
        stored = tx.put_dead_letters([letter("b"), letter("x", stream="bids"), letter("a", batch_id=2**40, rows=2**40)])
    with catalog.read() as tx:
        assert tx.dead_letters() == stored
        assert tx.dead_letters("packets") == (stored[0], stored[2])
        assert tx.dead_letters("none") == ()
    assert [row.path for row in stored] == ["b", "x", "a"]
    assert [replace(row, id=None) for row in stored] == [
        replace(letter("b"), created_at=clock.now),
        replace(letter("x", stream="bids"), created_at=clock.now),
        replace(letter("a", batch_id=2**40, rows=2**40), created_at=clock.now),
    ]
    assert len({row.id for row in stored}) == 3 and None not in {row.id for row in stored}


def test_a_batch_that_runs_again_puts_nothing_twice(catalog: Catalog, clock: Any) -> None:
    with catalog.write() as tx:
        first = tx.put_dead_letters([letter("a"), letter("b")])
    clock.advance(timedelta(minutes=1))
    with catalog.write() as tx:
        again = tx.put_dead_letters([letter("b"), letter("c"), letter("a")])
    assert (again[2], again[0]) == first
    with catalog.read() as tx:
        assert tx.dead_letters() == (*first, again[1])


@pytest.mark.parametrize("other", [{"checksum": "blake2b:01"}, {"rows": 4}, {"stream": "bids"}, {"batch_id": 2}])
def test_another_file_under_a_stored_path_is_refused(catalog: Catalog, other: dict[str, Any]) -> None:
    with catalog.write() as tx:
        stored = tx.put_dead_letters([letter("a")])
    with pytest.raises(StateError) as refused, catalog.write() as tx:
        tx.put_dead_letters([letter("b"), letter("a", **other)])
    assert refused.value.code == "catalog-conflict"
    with catalog.read() as tx:
        assert tx.dead_letters() == stored


def test_dead_letters_of_a_tick_that_is_not_committed_are_not_there(catalog: Catalog) -> None:
    tick = TickRow(stream="packets", batch_id=1, checkpoint="c", offsets_digest="d")
    with catalog.write() as tx:
        tx.put_dead_letters([letter("a")])
        tx.put_tick(tick)
    with pytest.raises(StateError) as refused, catalog.write() as tx:
        tx.put_dead_letters([letter("b", batch_id=1)])
        tx.put_tick(tick)
    assert refused.value.code == "tick-not-newer"
    with catalog.read() as tx:
        assert [row.path for row in tx.dead_letters()] == ["a"]


def test_deleted_dead_letters_become_garbage(catalog: Catalog) -> None:
    with catalog.write() as tx:
        stored = tx.put_dead_letters([letter("a"), letter("b"), letter("c")])
        ids = [row.id or 0 for row in stored]
    with catalog.write() as tx:
        assert tx.delete_dead_letters([ids[2], ids[0]]) == ("a", "c")
        assert tx.dead_letters() == (stored[1],)
        assert tx.garbage() == ("a", "c")
        assert tx.delete_dead_letters([]) == ()


def test_a_file_that_is_put_again_is_no_garbage(catalog: Catalog) -> None:
    with catalog.write() as tx:
        tx.add_garbage(["a", "b"])
        tx.put_dead_letters([letter("a")])
        assert tx.garbage() == ("b",)


def test_dead_letters_that_somebody_else_deleted_stop_the_transaction(catalog: Catalog) -> None:
    with catalog.write() as tx:
        first, second = (row.id or 0 for row in tx.put_dead_letters([letter("a"), letter("b")]))
        tx.delete_dead_letters([first])
    with pytest.raises(StateError) as refused, catalog.write() as tx:
        tx.delete_dead_letters([first, second])
    assert refused.value.code == "segments-changed"
    with catalog.read() as tx:
        assert [row.path for row in tx.dead_letters()] == ["b"]


def test_ids_are_never_given_twice(catalog: Catalog) -> None:
    with catalog.write() as tx:
        (before,) = tx.put_dead_letters([letter("a")])
        tx.delete_dead_letters([before.id or 0])
        (after,) = tx.put_dead_letters([letter("b")])
    assert (after.id or 0) > (before.id or 0)


def test_dead_letters_do_not_bump_the_revision(catalog: Catalog) -> None:
    with catalog.write() as tx:
        (row,) = tx.put_dead_letters([letter("a")])
        tx.delete_dead_letters([row.id or 0])
        assert tx.revision() == 0


def test_many_dead_letters_at_once(catalog: Catalog) -> None:
    with catalog.write() as tx:
        stored = tx.put_dead_letters(letter(f"p{i}") for i in range(3000))
        assert tx.put_dead_letters(letter(f"p{i}") for i in range(3000)) == stored
        tx.delete_dead_letters(row.id or 0 for row in stored[1:])
        assert tx.dead_letters() == stored[:1]
        assert len(tx.garbage()) == 2999
