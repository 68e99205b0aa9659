"""From names of 48 bits to names of 96: the step that brings a catalog of format 3 to format 4.

A name is a digest of what it stands for. Nodes, dimensions and statistics are described in the catalog, so their longer
names follow from it. Files keep their columns under the names that they were written with: the catalog keeps which is
which, and who reads a file renames its columns. Names of families follow from nothing that is stored: their windows are
merged again when somebody asks.
Keeps: frozen, as every step is; it knows how names were made then and uses nothing of how they are made now.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, text

SHORT, LONG = 12, 24
KINDS = "boolean tinyint smallint int bigint float double string date timestamp void".split()
TYPES = (*KINDS, *(f"decimal({digits},{scale})" for digits in range(1, 39) for scale in range(digits + 1)))
NAME = re.compile(rf'"((?:s|d|c|node|running)_[0-9a-f]{{{SHORT}}})"')

LongerNames = dict[str, str]


def lengthen_names(connection: Connection) -> None:
    """Give all that the catalog describes its longer name."""
    nodes = list(connection.execute(text("SELECT id, stream, definition FROM nodes")))
    plans = [json.loads(definition) for (definition,) in connection.execute(text("SELECT definition FROM plans"))]
    described = [json.loads(definition) for _, _, definition in nodes]
    described += [node for plan in plans for node in plan.get("nodes", ())]
    columns = dict(_columns(described))
    names = {**columns, **dict(_nodes(nodes, columns, _trees(connection)))}
    for old, _, definition in nodes:
        to = {"old": old, "new": names.get(old, old), "definition": _renamed(definition, names)}
        connection.execute(text("UPDATE nodes SET id = :new, definition = :definition WHERE id = :old"), to)
        connection.execute(text("UPDATE segments SET node = :new WHERE node = :old"), to)
    for old, definition in list(connection.execute(text("SELECT id, definition FROM layouts"))):
        renamed = _renamed(definition, names)
        to = {"old": old, "new": f"l_{_digest(json.dumps(json.loads(renamed)))[:LONG]}", "definition": renamed}
        connection.execute(text("UPDATE layouts SET id = :new, definition = :definition WHERE id = :old"), to)
        connection.execute(text("UPDATE segments SET layout = :new WHERE layout = :old"), to)
    for table, column, keys in (("plans", "definition", ("stream", "version")), ("ticks", "totals", ("stream",))):
        where = " AND ".join(f"{key} = :{key}" for key in keys)
        for row in list(connection.execute(text(f"SELECT {column}, {', '.join(keys)} FROM {table}"))):
            to = {"new": _renamed(row[0], names), **dict(zip(keys, row[1:], strict=True))}
            connection.execute(text(f"UPDATE {table} SET {column} = :new WHERE {where}"), to)
    if columns:
        connection.execute(text("INSERT INTO meta VALUES ('names', :names)"), {"names": json.dumps(columns)})
    # Rows are not what they were summed as: the next write sums all of them anew.
    connection.execute(text("DELETE FROM meta WHERE key = 'sums'"))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def _renamed(stored: str, names: Mapping[str, str]) -> str:
    """A JSON text with the longer names; only whole values and keys are names."""
    return NAME.sub(lambda match: f'"{names.get(match[1], match[1])}"', stored)


def _columns(described: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """The names of statistics and dimensions, short and long."""
    for node in described:
        for statistic in node["statistics"]:
            digest = _digest(statistic)
            yield f"s_{digest[:SHORT]}", f"s_{digest[:LONG]}"
        for name, expression in zip(node["dimensions"], node["expressions"], strict=True):
            kind, _, short = name.partition("_")
            digests = (_digest(expression, data_type) for data_type in TYPES)
            for digest in (candidate for candidate in digests if candidate.startswith(short)):
                yield name, f"{kind}_{digest[:LONG]}"


def _nodes(rows: Iterable[Any], columns: LongerNames, trees: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The names of nodes, short and long; the tree that a node belongs to is guessed by trying all."""
    candidates = [[], *([tree] for tree in trees)]
    for identifier, stream, definition in rows:
        kind, _, short = identifier.partition("_")
        dimensions = sorted(json.loads(definition)["dimensions"])
        for tree in candidates:
            if _digest(stream, *dimensions, *tree).startswith(short) and columns.keys() >= set(dimensions):
                longer = sorted(columns[dimension] for dimension in dimensions)
                yield identifier, f"{kind}_{_digest(stream, *longer, *tree)[:LONG]}"
                break


def _trees(connection: Connection) -> list[str]:
    """The trees that queries are in, or were before they moved."""
    trees = set()
    for (definition,) in connection.execute(text("SELECT definition FROM queries")):
        now = json.loads(definition)
        trees |= {placement["tree"] for placement in (now, *now.get("pasts", ())) if placement.get("tree")}
    return sorted(trees)
