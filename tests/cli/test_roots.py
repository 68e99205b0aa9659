"""Roots of a configuration: they hold for whatever `weft run` would start."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import weft
from tests.cli.command import PACKETS as SCHEMA
from tests.cli.command import refuse, share_session
from weft.config import load_config

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_weft_run_holds_every_stream_of_the_state_to_the_roots(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that is not in the configuration, but in the catalog."""
    share_session(monkeypatch, spark)
    (tmp_path / "in" / "packets").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "canary.txt").write_text("canary-of-the-disk")
    (tmp_path / "weft.toml").write_text(
        'roots = ["in"]\n[streams.packets]\nsource = "csv"\npath = "in/packets"\n'
        f'schema = "{SCHEMA}"\nevent_time = "ts"\n'
    )
    config = load_config(tmp_path / "weft.toml")
    assert config.roots == (str(tmp_path / "in"),)
    with weft.Engine(config.state, roots=config.roots) as engine:
        config.apply(engine)
    with sqlite3.connect(tmp_path / "state" / "catalog.sqlite") as connection:
        ((text, made),) = connection.execute("SELECT definition, created_at FROM streams").fetchall()
        evil = json.dumps({**json.loads(text), "source": "text", "path": str(tmp_path / "secret")})
        connection.execute("INSERT INTO streams VALUES ('evil', ?, ?)", [evil, made])
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'revision'")
        connection.execute("DELETE FROM meta WHERE key = 'sums'")  # whoever edits by hand can do that too
    connection.close()
    said = refuse("run", tmp_path / "weft.toml", "--available-now", "--plain", code="source-outside-roots")
    assert "'evil'" in said and "canary-of" not in said
