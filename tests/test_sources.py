"""Roots: sources lie below them by every spelling, use formats that only read, and options that reach nowhere else."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import weft
from weft.errors import StreamError
from weft.feeds.sources import FILE_FORMATS, FORMATS, Roots, address
from weft.feeds.streams import define_stream

SCHEMA = "ts timestamp, saddr string"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A disk with a root `in`, a secret beside it, and links in the root that lead out."""
    for folder in ("in/packets", "in/with space", "inside", "secret"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "secret" / "canary.txt").write_text("canary")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "in" / "root").symlink_to("/")
    (tmp_path / "in" / "round").symlink_to(tmp_path / "in" / "packets")
    (tmp_path / "in" / "deep" / "below").mkdir(parents=True)
    (tmp_path / "in" / "short").symlink_to(tmp_path / "in" / "deep" / "below")
    (tmp_path / "in" / "loop").symlink_to(tmp_path / "in" / "loop")
    return tmp_path


def check(roots: Any, source: str | None, path: str | None, /, **options: str) -> None:
    stream = define_stream(
        "packets",
        source=source,
        path=path,
        schema=SCHEMA,
        dataframe=None,
        event_time="ts",
        watermark="0 seconds",
        options=options,
    )
    Roots.of(roots).check(stream)


def refusal(roots: Any, source: str, path: str | None, /, **options: str) -> StreamError:
    with pytest.raises(StreamError) as refused:
        check(roots, source, path, **options)
    assert refused.value.hint
    assert len(str(refused.value)) < 1000
    return refused.value


@pytest.mark.parametrize(
    "path",
    ["in", "in/", "in/packets", "in/./packets", "in/packets/../packets", "in/round", "in/not/yet", "in/with space"],
)
@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
def test_what_lies_below_a_root_is_allowed(place: Path, prefix: str, path: str) -> None:
    check([place / "in"], "parquet", f"{prefix}{place}/{path}")
    check([f"file://{place}/in/"], "csv", f"{prefix}{place}/{path}", header="true")
    check([place / "other", place], "JSON", f"{prefix}{place}/{path}")


ESCAPES = """
{place}/secret
{place}/secret/canary.txt
{place}/inside
{place}/in/../secret
{place}/in/packets/../../secret
{place}/in//..//secret
{place}/in/./../secret
{place}/in/link
{place}/in/link/canary.txt
{place}/in/root
{place}/in/root/etc
{place}/in/round/../../secret
{place}
/
//
/etc/passwd
/proc/self/environ
/proc/self/root/etc
/dev/stdin
file:{place}/secret
file://{place}/secret
file:////{place}/in
file://localhost{place}/in
file://evil{place}/in
FILE://{place}/secret
file:{place}/in/short/../../secret
file://{place}/in/short/../../secret
file:{place}/in/./short/.././../secret/canary.txt
{place}/in/short/../../secret
file:{place}/in/%2e%2e/secret
file:in
file:
file://
{place}/in/{,../secret}
{place}/in/*/canary.txt
{place}/in/[l]ink
{place}/in/lin?
{place}/in\\..\\secret
hdfs://namenode/data
hdfs:///data
webhdfs://namenode/data
http://169.254.169.254/latest/meta-data/
https://example.org/x
HTTP://169.254.169.254/
ftp://host/x
s3a://bucket/secret
s3a://bucket/database
s3a://bucket/data/../secret
s3a://bucket/data/./x
s3a://bucket/data/%2e%2e/secret
s3a://user:key@bucket/data
s3a://bucket.evil/data
s3a://bucket/data?x=/secret
s3a://bucket/data#/secret
s3a:/bucket/data
s3a:bucket/data
s3n://bucket/data
jar:file:///x.jar!/y
data:,x
viewfs://cluster/x
har:///x
abfss://container@account.dfs.core.windows.net/x
jdbc:postgresql://host/db
c:x
""".strip().split("\n")


@pytest.mark.parametrize("path", ESCAPES)
@pytest.mark.parametrize("source", ["parquet", "text"])
def test_what_lies_elsewhere_is_refused(place: Path, source: str, path: str) -> None:
    given = path.replace("{place}", str(place))
    assert refusal([place / "in", "s3a://bucket/data"], source, given).code == "source-outside-roots"


@pytest.mark.parametrize("path", ["s3a://bucket/data", "s3a://bucket/data/x/y", "S3A://BUCKET/data//x"])
def test_an_address_below_an_address_is_allowed(path: str) -> None:
    check(["s3a://bucket/data"], "parquet", path)


@pytest.mark.parametrize(
    "path", ["\x00", "/in/\x00", "/in/a\nb", "/in/\x1b[2J", "/in/\ud800", "/" + "a" * 5000, "/a" * 3000]
)
@pytest.mark.parametrize("roots", [None, ["/in"]])
def test_control_characters_and_endless_paths_are_refused_with_and_without_roots(roots: Any, path: str) -> None:
    assert refusal(roots, "parquet", path).code == "bad-source"


@pytest.mark.parametrize(
    "source",
    """jdbc kafka socket delta iceberg hudi xml binaryFile hive image libsvm memory console noop statestore
    state-metadata org.apache.spark.sql.execution.datasources.csv.CSVFileFormat com.example.Evil
    org.apache.spark.sql.execution.streaming.sources.TextSocketSourceProvider my_python_source csv,text csv.. .. . * `csv`
    """.split(),
)
def test_a_format_that_may_reach_anywhere_is_refused(place: Path, source: str) -> None:
    assert refusal([place / "in"], source, str(place / "in")).code == "source-outside-roots"
    assert refusal([place / "in"], source, None).code == "source-outside-roots"


@pytest.mark.parametrize(
    "option",
    """path PATH paths Path cleanSource sourceArchiveDir SOURCEARCHIVEDIR checkpointLocation avroSchemaUrl
    rowValidationXSDPath kafka.bootstrap.servers kafka.sasl.jaas.config fs.defaultFS fs.s3a.endpoint
    spark.hadoop.fs.defaultFS io.compression.codecs parquet.crypto.factory.class encryption.key.provider.uri
    orc.key.provider io.serializations mapreduce.input.pathFilter.class basePath url dbtable driver host port
    __paths__ javax.net.ssl.trustStore inferSchema.path""".split(),
)
@pytest.mark.parametrize("source", FORMATS)
def test_an_option_that_may_reach_anywhere_is_refused(place: Path, source: str, option: str) -> None:
    path = str(place / "in") if source in FILE_FORMATS else None
    error = refusal([place / "in"], source, path, **{option: str(place / "secret")})
    assert error.code == "source-outside-roots"
    assert repr(option) in error.message


@pytest.mark.parametrize(
    "options", [{"x\x00": "1"}, {"x\ny": "1"}, {"sep": "\x00"}, {"x" * 2000: "1"}, {"sep": "x" * 2000}]
)
@pytest.mark.parametrize("roots", [None, ["/in"]])
def test_options_with_control_characters_are_refused(roots: Any, options: dict[str, str]) -> None:
    assert refusal(roots, "csv", "/in", **options).code == "bad-source"


def test_usual_options_are_allowed(place: Path) -> None:
    check([place], "csv", str(place), maxFilesPerTrigger="1", sep="\t", header="true", nullValue="-", lineSep="\n")
    check([place], "json", str(place), multiLine="true", timestampFormat="yyyy-MM-dd", pathGlobFilter="*.json")
    check([place], "rate", None, rowsPerSecond="5")


def test_a_source_without_a_path_or_with_one_too_many_is_refused(place: Path) -> None:
    assert refusal([place], "parquet", None).code == "source-outside-roots"
    assert refusal([place], "rate", str(place)).code == "source-outside-roots"


def test_no_roots_at_all_allow_only_what_is_made_up(place: Path) -> None:
    check([], "rate", None)
    assert refusal([], "parquet", str(place)).code == "source-outside-roots"


@pytest.mark.parametrize("extra", ["/", "//", "///"])
def test_a_path_that_hadoop_reads_as_a_host_is_refused(place: Path, extra: str) -> None:
    assert refusal([place / "in"], "csv", f"{extra}{place}/in").code == "source-outside-roots"
    assert refusal(["/"], "csv", f"{extra}{place}/in").code == "source-outside-roots"
    check(None, "csv", f"{extra}{place}/in")


def test_one_root_on_its_own_is_no_list_of_letters(place: Path) -> None:
    assert refusal(str(place / "in"), "parquet", str(place / "secret")).code == "source-outside-roots"


@pytest.mark.parametrize("roots", ["", [""], ["/in", ""]])
def test_an_empty_root_is_not_the_current_folder(roots: Any) -> None:
    with pytest.raises(StreamError) as refused:
        Roots.of(roots)
    assert refused.value.code == "bad-source" and refused.value.hint


def test_a_relative_path_is_relative_to_the_current_folder(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place / "in")
    assert address("packets") == address(str(place / "in" / "packets"))
    check(["."], "parquet", "packets")
    assert refusal(["."], "parquet", "../secret").code == "source-outside-roots"


def add(engine: weft.Engine, path: Path | str, **more: Any) -> None:
    engine.add_stream("packets", source="csv", path=path, schema=SCHEMA, event_time="ts", **more)


def test_the_engine_refuses_before_anything_is_kept(place: Path) -> None:
    with weft.Engine(place / "state", roots=[place / "in"]) as engine:
        for path in (place / "secret", place / "in" / "link", "http://169.254.169.254/"):
            with pytest.raises(StreamError) as refused:
                add(engine, path)
            assert refused.value.code == "source-outside-roots"
        assert engine.registry.streams() == {}
        add(engine, place / "in" / "packets")
        add(engine, place / "in" / "packets")


def tamper(state: Path, **changes: Any) -> None:
    """Change the stream's definition in the catalog as somebody with an editor would."""
    with sqlite3.connect(state / "catalog.sqlite") as connection:
        ((text,),) = connection.execute("SELECT definition FROM streams").fetchall()
        connection.execute("UPDATE streams SET definition = ?", [json.dumps({**json.loads(text), **changes})])
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'revision'")
        connection.execute("DELETE FROM meta WHERE key = 'sums'")  # whoever edits by hand can do that too
    connection.close()


@pytest.mark.parametrize(
    "changes",
    [
        {"path": "/etc"},
        {"path": "file:///proc/self"},
        {"path": "http://169.254.169.254/"},
        {"source": "text", "path": "/etc/passwd"},
        {"source": "com.example.Evil"},
        {"options": {"path": "/etc"}},
        {"options": {"cleanSource": "archive", "sourceArchiveDir": "/tmp"}},
        {"path": None, "options": {"PATH": "/etc"}},
    ],
    ids=str,
)
@pytest.mark.parametrize("when", ["closed", "open"])
def test_a_catalog_edited_by_hand_widens_no_roots(place: Path, changes: dict[str, Any], when: str) -> None:
    state = place / "state"
    engine = weft.Engine(state, roots=[place / "in"])
    add(engine, place / "in" / "packets")
    query = engine.register("SELECT count(*) AS n FROM packets", name="n")
    if when == "closed":
        engine.close()
    tamper(state, **changes)
    if when == "closed":
        engine = weft.Engine(state, roots=[place / "in"])
        query = engine.query("n")
    engine.registry.refresh()
    for run in (engine.run_available, engine.start):
        with pytest.raises(StreamError) as refused:
            run()
        assert refused.value.code == "source-outside-roots"
    assert query.result().to_pylist() == [{"n": 0}], "what is there stays readable"
    assert not engine._session.is_open, "Spark was not even started"
    engine.close()


def test_a_link_that_is_turned_round_later_is_noticed_at_the_next_start(place: Path) -> None:
    with weft.Engine(place / "state", roots=[place / "in"]) as engine:
        add(engine, place / "in" / "round")
        os.unlink(place / "in" / "round")
        (place / "in" / "round").symlink_to(place / "secret")
        with pytest.raises(StreamError) as refused:
            engine.run_available()
    assert refused.value.code == "source-outside-roots"


def test_without_roots_the_caller_is_the_operator(place: Path) -> None:
    with weft.Engine(place / "state") as engine:
        add(engine, place / "secret", options={"pathGlobFilter": "*.csv"})
        assert engine.registry.stream("packets").path == str(place / "secret")


def test_a_root_that_cannot_be_judged_is_refused_itself(place: Path) -> None:
    for root in (place / "*", "s3a://bucket/../x", "http:x", "a\x00b"):
        with pytest.raises(StreamError):
            weft.Engine(place / "state", roots=[root])
