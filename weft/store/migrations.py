"""From the catalog formats of older Wefts to the format in use, a step for each format.

Keeps: all steps and the new format number are one transaction of the caller, so a crash leaves the old format whole.
A step is frozen once it is released. It says its tables itself, because weft/store/tables.py goes on changing; a test
compares a migrated catalog of every older format with a new catalog, column by column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    DateTime,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from weft.store import tables
from weft.store.longer_names import lengthen_names


@dataclass(frozen=True)
class Step:
    """How a catalog of format `to - 1` becomes a catalog of format `to`, and which tables that adds."""

    to: int
    adds: frozenset[str]
    apply: Callable[[Connection], None]


def _add_dead_letters(connection: Connection) -> None:
    table = Table(
        "dead_letters",
        MetaData(),
        Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
        Column("stream", Text, nullable=False),
        Column("batch_id", BigInteger, nullable=False),
        Column("path", Text, nullable=False, unique=True),
        Column("rows", BigInteger, nullable=False),
        Column("bytes", BigInteger, nullable=False),
        Column("checksum", Text, nullable=False),
        Column("created_at", DateTime(timezone=True), nullable=False),
        Index("ix_dead_letters_stream_batch", "stream", "batch_id"),
        sqlite_autoincrement=True,
    )
    table.create(connection)


def _add_plans(connection: Connection) -> None:
    Table(
        "plans",
        MetaData(),
        Column("stream", Text, primary_key=True),
        Column("version", BigInteger, primary_key=True, autoincrement=False),
        Column("from_batch", BigInteger, nullable=False),
        Column("definition", Text, nullable=False),
    ).create(connection)
    connection.execute(text("ALTER TABLE segments ADD COLUMN plan BIGINT NOT NULL DEFAULT '0'"))
    # Rows have a column more than they were summed with: the next write sums all of them anew.
    connection.execute(text("DELETE FROM meta WHERE key = 'sums'"))


def _lengthen_names_and_add_forms(connection: Connection) -> None:
    lengthen_names(connection)
    Table(
        "forms",
        MetaData(),
        Column("query", Text, primary_key=True),
        Column("format", Integer, nullable=False),
        Column("digest", Text, nullable=False),
        Column("content", Text, nullable=False),
    ).create(connection)


def _add_parts_of_files(connection: Connection) -> None:
    """Let several segments be in a file: each says where in it, and the file's name alone is not unique any more."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("ALTER TABLE segments ADD COLUMN byte_from BIGINT NOT NULL DEFAULT '0'"))
        connection.execute(text("ALTER TABLE segments DROP CONSTRAINT segments_path_key"))
        connection.execute(text("ALTER TABLE segments ADD UNIQUE (path, byte_from)"))
    else:
        _replace_segments_of_sqlite(connection)
    # Rows have a column more than they were summed with: the next write sums all of them anew.
    connection.execute(text("DELETE FROM meta WHERE key = 'sums'"))


def _replace_segments_of_sqlite(connection: Connection) -> None:
    """Copy the segments into a table without the old constraint, which SQLite cannot drop; no id is given again."""
    connection.execute(text("ALTER TABLE segments RENAME TO older_segments"))
    connection.execute(text("DROP INDEX ix_segments_node"))
    Table(
        "segments",
        MetaData(),
        Column("id", Integer, primary_key=True, autoincrement=True),
        Column("node", Text, nullable=False, index=True),
        Column("layout", Text, nullable=False),
        Column("path", Text, nullable=False),
        Column("kind", Text, nullable=False),
        Column("family", Text, nullable=False),
        Column("rank", Integer, nullable=False),
        *(Column(name, BigInteger, nullable=False) for name in ("batch_from", "batch_to", "time_from", "time_to")),
        Column("rows", BigInteger, nullable=False),
        Column("bytes", BigInteger, nullable=False),
        Column("checksum", Text, nullable=False),
        Column("plan", BigInteger, nullable=False, server_default="0"),
        Column("byte_from", BigInteger, nullable=False, server_default="0"),
        UniqueConstraint("path", "byte_from"),
        sqlite_autoincrement=True,
    ).create(connection)
    columns = "id, node, layout, path, kind, family, rank, batch_from, batch_to, time_from, time_to"
    columns += ", rows, bytes, checksum, plan"
    connection.execute(text(f"INSERT INTO segments ({columns}) SELECT {columns} FROM older_segments"))
    connection.execute(text("DELETE FROM sqlite_sequence WHERE name = 'segments'"))
    connection.execute(text("UPDATE sqlite_sequence SET name = 'segments' WHERE name = 'older_segments'"))
    connection.execute(text("DROP TABLE older_segments"))


STEPS = (
    Step(2, frozenset({"dead_letters"}), _add_dead_letters),
    Step(3, frozenset({"plans"}), _add_plans),
    Step(4, frozenset({"forms"}), _lengthen_names_and_add_forms),
    Step(5, frozenset(), _add_parts_of_files),
)


def tables_of(format_number: int) -> frozenset[str]:
    """The tables that a catalog of a known format has.

    >>> sorted(tables_of(3) - tables_of(1))
    ['dead_letters', 'plans']
    """
    later = (step.adds for step in STEPS if step.to > format_number)
    return frozenset(tables.metadata.tables).difference(*later)


def migrate(connection: Connection, stored_format: int) -> int:
    """Bring a catalog of an older format to the newest, inside the caller's transaction; return the new format."""
    for step in STEPS:
        if step.to > stored_format:
            step.apply(connection)
            stored_format = step.to
            connection.execute(text("UPDATE meta SET value = :to WHERE key = 'format'"), {"to": str(stored_format)})
    return stored_format
