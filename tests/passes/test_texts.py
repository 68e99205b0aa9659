"""Strings are UTF-8 wherever they are in partial rows, and those that are stay as they came."""

from __future__ import annotations

import pyarrow as pa

from weft.passes.texts import valid_texts

BAD = pa.array([b"ab\xffcd", "é\U0001f600".encode(), None, b"\xed\xa0\x80", b""]).view(pa.string())
GOOD = ["ab\ufffdcd", "é\U0001f600", None, "\ufffd\ufffd\ufffd", ""]


def test_strings_that_are_valid_are_not_touched() -> None:
    table = pa.table({"k": ["a", "é", None], "n": [1, 2, 3]})
    assert valid_texts(table) is table


def test_strings_alone_and_in_structs_are_mended_in_every_chunk() -> None:
    whole = pa.StructArray.from_arrays([pa.array(range(5)), BAD], names=["o", "v"], mask=pa.array([False] * 4 + [True]))
    chunks = pa.chunked_array([BAD.slice(1, 1), BAD, BAD.slice(3, 2)])
    table = valid_texts(pa.table({"k": chunks, "s": pa.chunked_array([whole, whole.slice(2, 3)]), "n": range(8)}))
    table.validate(full=True)
    assert table["k"].to_pylist() == [GOOD[1], *GOOD, *GOOD[3:]]
    rows = [{"o": place, "v": text} for place, text in enumerate(GOOD[:4])]
    assert table["s"].to_pylist() == [*rows, None, *rows[2:], None]
    assert table["n"].to_pylist() == list(range(8))


def test_an_array_that_begins_in_its_middle_is_mended() -> None:
    assert valid_texts(pa.table({"k": BAD.slice(3)}))["k"].to_pylist() == GOOD[3:]
    inner = pa.StructArray.from_arrays([BAD], names=["v"]).slice(2, 2)
    assert valid_texts(pa.table({"s": inner}))["s"].to_pylist() == [{"v": None}, {"v": GOOD[3]}]
