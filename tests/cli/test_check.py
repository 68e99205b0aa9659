"""`weft check`: everything that is wrong with a configuration at once, each with file, line, column and hint."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.cli.command import refuse, run, succeed, succeed_json
from tests.golden import check, golden_files
from weft.config import load_config
from weft.config.positions import find_positions
from weft.engine import Engine
from weft.errors import ConfigError, Position

GOOD = """
[streams.packets]
source = "parquet"
path = "in"
schema = "ts timestamp, saddr string, length int"
event_time = "ts"

[queries]
bytes = "SELECT saddr, sum(length) AS bytes FROM packets GROUP BY window(ts, '10 seconds'), saddr"
"""


def write(folder: Path, text: str) -> Path:
    """Write a configuration and the files that follow it behind lines `# file: name`; where the configuration is."""
    name, lines = "weft.toml", []
    for line in [*text.split("\n"), "# file: end"]:
        if line.startswith("# file: "):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
            name, lines = line.removeprefix("# file: "), []
        else:
            lines.append(line)
    return folder / "weft.toml"


@pytest.mark.parametrize("path", golden_files("config", ".txt"), ids=lambda path: path.stem)
def test_golden(path: Path, rewrite: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = iter(range(1000))

    def problems(text: str) -> str:
        folder = tmp_path / str(next(blocks))
        folder.mkdir()
        monkeypatch.chdir(folder)
        write(folder, text)
        try:
            config = load_config("weft.toml")
        except ConfigError as error:
            return str(error)
        return f"streams {', '.join(config.streams)}; queries {', '.join(config.queries)}; spark {dict(config.spark)}"

    check(path, problems, rewrite)


def test_good_configuration(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    assert succeed("check", path) == (
        f"{path}: 1 stream, 1 query, no problems\n"
        "  bytes: at most 60,482 slices, each with a row for every different (saddr)\n")
    found = succeed_json("check", path)
    assert found == {"ok": True, "problems": [], "streams": ["packets"], "queries": ["bytes"],
                     "state": str(tmp_path / "state"),
                     "bounds": {"bytes": "at most 60,482 slices, each with a row for every different (saddr)"}}
    assert not (tmp_path / "state").exists()


def test_problems_as_json(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("sum(length)", "sum(lenght)").replace("event_time", "event_tiem"))
    result = run("check", path, "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["ok"]) == (1, False)
    assert [(one["code"], one["line"]) for one in found["problems"]] == [
        ("missing-key", 2), ("unknown-key", 6), ("unknown-column", 9)]
    assert set(found["problems"][0]) == {"file", "line", "column", "code", "message", "hint"}


def test_all_problems_are_printed(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("sum(length)", "sum(lenght)") + 'worse = "SELECT nothing"\ntypo = 1\n')
    said = refuse("check", path, code="bad-config")
    assert f"{path}:9:28: [unknown-column] query 'bytes': there is no column 'lenght'" in said
    assert "has 3 problems" in said


def test_a_file_of_no_bytes_is_no_query(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD + '[queries.nothing]\nfile = "nothing.sql"\n')
    (tmp_path / "nothing.sql").touch()
    assert "nothing.sql: [syntax-error] query 'nothing': the text is empty" in refuse("check", path, code="bad-config")


def test_state_that_holds_something_else(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    with Engine(tmp_path / "state") as engine:
        load_config(path).apply(engine)
    assert "no problems" in succeed("check", path)
    write(tmp_path, GOOD.replace("'10 seconds'", "'20 seconds'").replace('source = "parquet"', 'source = "json"'))
    said = refuse("check", path, code="query-differs")
    assert "[stream-differs]" in said and "source was 'parquet', is 'json'" in said
    assert f"weft drop bytes --state {tmp_path / 'state'}" in said


def test_a_moved_project_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "old").mkdir()
    path = write(tmp_path / "old", GOOD)
    with Engine(tmp_path / "old" / "state") as engine:
        load_config(path).apply(engine)
    (tmp_path / "old").rename(tmp_path / "new")
    moved = tmp_path / "new" / "weft.toml"
    assert "no problems" in succeed("check", moved)
    with Engine(tmp_path / "new" / "state") as engine:
        load_config(moved).apply(engine)
        assert engine.registry.stream("packets").path == str(tmp_path / "new" / "in")
    monkeypatch.chdir(tmp_path / "new")
    assert "no problems" in succeed("check")


def test_what_differs_after_a_move_is_said(tmp_path: Path) -> None:
    """An absolute path means one place, wherever the project is."""
    (tmp_path / "old").mkdir()
    path = write(tmp_path / "old", GOOD.replace('"in"', f'"{tmp_path}/old/in"'))
    with Engine(tmp_path / "old" / "state") as engine:
        load_config(path).apply(engine)
    (tmp_path / "old").rename(tmp_path / "new")
    moved = write(tmp_path / "new", GOOD)
    said = refuse("check", moved, code="stream-differs")
    assert f"path was '{tmp_path}/old/in', is '{tmp_path}/new/in'" in said


def test_a_configuration_is_applied_with_its_own_keeps(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD + """
        [queries.more]
        sql = "SELECT count(*) AS n FROM packets GROUP BY window(ts, '1 minute')"
        keep = "forever"
        eager = true
    """)
    with Engine(tmp_path / "state") as engine:
        load_config(path).apply(engine)
        load_config(path).apply(engine)
        rows = {name: one.row.definition for name, one in engine.registry.queries().items()}
    assert rows["bytes"].keep_text == "7 days"
    assert rows["more"].keep_text == "forever" and rows["more"].eager is True


@pytest.mark.parametrize(("text", "keys", "position"), [
    ("a = 1", ("a",), Position(1, 1)),
    ("\n[t]\n  b.c = 2", ("t", "b", "c"), Position(3, 3)),
    ("[t.'x y']\nz = '''\n[no]\nk = 1'''\nw = 3", ("t", "x y", "w"), Position(5, 1)),
    ('a = "# [b]" # [c]\n[d] # e\nf = [ # g\n "]", 1 ]\nh = 1', ("d", "h"), Position(5, 1)),
    ("[[list]]\nx = 1", ("list", "x"), Position(2, 1)),
    ("[t]\na = 1", ("t", "missing"), Position(1, 1)),
    ("a = { b = 1 }", ("a", "b"), Position(1, 1)),
])
def test_places_of_keys(text: str, keys: tuple[str, ...], position: Position) -> None:
    assert find_positions(text).key(*keys) == position


@pytest.mark.parametrize(("text", "inside", "position"), [
    ('q = "SELECT x"', Position(1, 8), Position(1, 13)),
    ('q = """\nSELECT\n  x"""', Position(2, 3), Position(3, 3)),
    ("q = '''SELECT\n  x'''", Position(1, 1), Position(1, 8)),
])
def test_places_inside_texts(text: str, inside: Position, position: Position) -> None:
    assert find_positions(text).within(inside, "q") == position


STREAM = GOOD.partition("[queries]")[0]
NESTED = ".".join(["a"] * 3000)
# What is wrong, the text, and the code and the line that it is refused with.
HOSTILE = {
    "5,000 lists": ("x = " + "[" * 5000 + "]" * 5000 + STREAM, "not-toml", 1),
    "3,000 inline tables": (STREAM + "x = " + "{a=" * 3000 + "1" + "}" * 3000, "not-toml", 8),
    "a number of 5,005 digits": (STREAM + "x = " + "9" * 5005, "not-toml", 8),
    "an option of 5,000 hexadecimal digits": (STREAM + "[streams.packets.options]\na = 0x" + "f" * 5000, "bad-type", 9),
    "a state of 5,000 hexadecimal digits": ("state = 0x" + "f" * 5000 + STREAM, "bad-type", 1),
    "an option of 3,000 parts": (STREAM + f"[streams.packets.options]\n{NESTED} = 1", "too-deep", 9),
    "a setting of 3,000 parts": (STREAM + f"[spark]\n{NESTED} = 1", "too-deep", 9),
    "no pattern": ('query_files = ""' + STREAM, "no-such-file", 1),
    "two stars and a letter": ('query_files = "**x/**"' + STREAM, "no-such-file", 1),
    "the folder": ('query_files = "."' + STREAM, "no-such-file", 1),
    "a folder": ('query_files = "queries"' + STREAM, "no-such-file", 1),
    "a pattern of 5,000 letters": (f'query_files = "{"a" * 5000}"' + STREAM, "no-such-file", 1),
    "a file that is no path": (STREAM + '[queries.a]\nfile = "\\u0000"', "unreadable-file", 9),
    "a state of 5,000 letters": (f'state = "{"a" * 5000}"' + STREAM, "bad-source", 1),
    "a state of 300 letters": (f'state = "{"a" * 300}"' + STREAM, "storage-failed", 1),
    "a state that is no path": ('state = "\\u0000"' + STREAM, "bad-source", 1),
    "a catalog that is no URL": ('catalog = "foo"' + STREAM, "catalog-url", 1),
    "a catalog of signs": ('catalog = "://"' + STREAM, "catalog-url", 1),
    "a catalog elsewhere": ('catalog = "mysql://host/weft"' + STREAM, "catalog-url", 1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_content_ends_in_a_traceback(name: str, tmp_path: Path) -> None:
    text, code, line = HOSTILE[name]
    (tmp_path / "queries").mkdir()
    (tmp_path / "weft.toml").write_text(text)
    with pytest.raises(ConfigError) as refused:
        load_config(tmp_path / "weft.toml")
    [problem] = refused.value.problems
    assert problem.code == code and problem.position is not None and problem.position.line == line
    assert len(str(refused.value)) < 1500


def test_the_positions_of_many_keys_are_known_quickly() -> None:
    text = "".join(f"key{number} = {number}\n" for number in range(30_000))
    start = time.process_time()
    found = find_positions(text)
    assert time.process_time() - start < 1.5
    assert found.key("key29999") == Position(30_000, 1)
