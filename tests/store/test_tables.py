"""The row classes and the tables say the same, and nothing but JSON and aware moments goes in."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from sqlalchemy.dialects import postgresql, sqlite

from weft.store import tables
from weft.store.tables import TABLE_OF, JsonText, UtcDatetime


@pytest.mark.parametrize("kind", TABLE_OF, ids=lambda kind: kind.__name__)
def test_a_row_class_has_the_columns_of_its_table(kind: type[Any]) -> None:
    columns = TABLE_OF[kind].columns
    assert {field.name for field in fields(kind)} == set(columns.keys())
    assert {field.name for field in fields(kind) if "None" in str(field.type)} >= {
        c.name for c in columns if c.nullable
    }


def test_every_table_but_the_two_plain_ones_has_a_row_class() -> None:
    assert set(tables.metadata.tables.values()) - set(TABLE_OF.values()) == {tables.meta, tables.garbage}


@pytest.mark.parametrize("value", [{"x": float("nan")}, {"x": float("inf")}])
def test_json_refuses_what_json_does_not_have(value: Any) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        JsonText().process_bind_param(value, sqlite.dialect())


def test_json_keeps_the_order_of_its_keys_and_any_text() -> None:
    value = {"b": "ü\u0000\ud800 🧵", "a": {"d": [1, None, 2.5], "c": 2**70}}
    text = JsonText().process_bind_param(value, sqlite.dialect())
    back = JsonText().process_result_value(text, sqlite.dialect())
    assert back == value
    assert list(back or {}) == ["b", "a"]


def test_a_moment_needs_a_time_zone() -> None:
    with pytest.raises(ValueError, match="time zone"):
        UtcDatetime().process_bind_param(datetime(2026, 1, 1), sqlite.dialect())  # noqa: DTZ001


@pytest.mark.parametrize("dialect", [sqlite.dialect(), postgresql.dialect()], ids=lambda dialect: dialect.name)
def test_a_moment_comes_back_in_utc(dialect: Any) -> None:
    moment = datetime(2026, 7, 1, 1, 30, 0, 7, tzinfo=timezone(timedelta(hours=5)))
    back = UtcDatetime().process_result_value(UtcDatetime().process_bind_param(moment, dialect), dialect)
    assert back == moment
    assert back is not None and back.tzinfo is UTC


def test_a_segment_has_one_of_three_kinds(segment: Any) -> None:
    with pytest.raises(ValueError, match="'slice'"):
        segment("a", kind="slice")
