"""What one query may ask of the network has a bound, whatever stands in its SELECT, HAVING and ORDER BY."""

from __future__ import annotations

import time

import pytest

from tests.sql.fakes import STREAMS
from weft.aggregates.catalog import AggregateCatalog
from weft.errors import SqlError
from weft.plan.needs import MAX_MEASURES, MAX_VALUES, Needs, analyse
from weft.sql.bind import compile_query


def needs(call: str, count: int, rest: str = "") -> Needs:
    select = ", ".join(f"{call.format(place)} AS c{place}" for place in range(count))
    return analyse(compile_query(f"SELECT {select} FROM packets {rest}", STREAMS, AggregateCatalog()), AggregateCatalog())


@pytest.mark.parametrize(("call", "most"), [
    ("count(DISTINCT length + {})", MAX_VALUES),
    ("percentile(length + {}, 0.5)", MAX_VALUES),
    ("mode(saddr) FILTER (WHERE length > {})", MAX_VALUES),
    ("sum(length + {})", MAX_MEASURES),
])
def test_a_query_has_so_many_aggregates_at_most(call: str, most: int) -> None:
    assert len(needs(call, most).measures) == most
    for count in (most + 1, 220):
        start = time.process_time()
        with pytest.raises(SqlError) as refused:
            needs(call, count)
        assert refused.value.code == "too-large" and refused.value.hint
        assert f"more than {most if count <= MAX_MEASURES else MAX_MEASURES}" in refused.value.message
        assert time.process_time() - start < 2


def test_many_aggregates_over_few_values_are_allowed() -> None:
    found = needs("percentile(length, 0.{:03})", 150)
    assert len(found.measures) == 150 and len(found.parts) == 1


def test_aggregates_of_having_and_order_count_as_well() -> None:
    with pytest.raises(SqlError, match="too-large"):
        needs("sum(length + {})", MAX_MEASURES, "HAVING max(length) > 1")
