"""What a set of queries becomes: the network as text, what is shared, what is not, and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import check, golden_files
from weft.aggregates.catalog import AggregateCatalog
from weft.algebra.query import StreamSchema
from weft.plan.explain import explain_network
from weft.plan.needs import analyse
from weft.plan.network import build_network
from weft.sql.bind import compile_query
from weft.sql.ddl import parse_schema

STREAM = StreamSchema("packets", dict(parse_schema(
    "ts timestamp, saddr string, daddr string, proto int, port int, length int, rate double")), "ts")


def network(text: str) -> str:
    """The network of the queries of a block, one a line, as `name: SQL`."""
    catalog = AggregateCatalog()
    lines = [line.partition(": ") for line in text.strip().split("\n")]
    assert lines and all(name.isidentifier() and sql for name, _, sql in lines), text
    needs = {name: analyse(compile_query(sql, {"packets": STREAM}, catalog), catalog) for name, _, sql in lines}
    found = explain_network(build_network("packets", needs))
    backwards = explain_network(build_network("packets", dict(reversed(needs.items()))))
    assert found == backwards, "the order of registration must not matter"
    return found


@pytest.mark.parametrize("path", golden_files("plans", ".plan"), ids=lambda path: path.stem)
def test_plans(path: Path, rewrite: bool) -> None:
    check(path, network, rewrite)
