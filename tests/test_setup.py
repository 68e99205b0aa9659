"""`scripts/setup.sh` installs what is missing, once, and says in one sentence why it cannot.

The script runs in a folder of its own with stand-ins for python and java, so that nothing is downloaded.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from weft.spark.java import ACCEPTED_MAJORS

ROOT = Path(__file__).parents[1]
PYTHONS = ("python3.14", "python3.13", "python3.12", "python3.11", "python3")

# A python whose venvs hold a copy of it, and whose pip only writes down what it was asked for.
GOOD_PYTHON = f"""#!/bin/sh
case "$1 $2" in
    "-c "*) exec {sys.executable} "$@" ;;
    "--version ") echo "Python 3.14.0" ;;
    "-m venv") mkdir -p "$4/bin" && cp "$0" "$4/bin/python" ;;
    "-m pip") echo "$@" >>pip.log; exit "${{PIP_STATUS:-0}}" ;;
esac
"""
# A python that works, but takes itself for the last one before 3.11.
OLD_PYTHON = f"""#!/bin/sh
exec {sys.executable} -c "import sys; sys.version_info = (3, 10, 99, 'final', 0)
$2"
"""
JAVA = "#!/bin/sh\necho 'openjdk version \"{}\" 2025-07-15' >&2\n"


class Sandbox:
    """A checkout with nothing in it but what the set-up reads, and a PATH that starts with stand-ins."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "checkout"
        self.bin = folder / "bin"
        self.bin.mkdir()
        (self.root / "scripts").mkdir(parents=True)
        shutil.copy(ROOT / "scripts" / "setup.sh", self.root / "scripts")
        for name in ("requirements.lock", "requirements-jre.lock", "pyproject.toml"):
            (self.root / name).write_text(f"# {name}\n")
        for name in PYTHONS:
            self.program(name, OLD_PYTHON)
        self.program("java", JAVA.format("21.0.8"))

    def program(self, name: str, text: str) -> Path:
        path = self.bin / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def run(self, **environ: str) -> subprocess.CompletedProcess[str]:
        inherited = {k: v for k, v in os.environ.items() if k not in ("PYTHON", "JAVA_HOME", "WEFT_MIN_FREE_MB")}
        path = os.pathsep.join([str(self.bin), os.environ["PATH"]])
        return subprocess.run(
            ["bash", "scripts/setup.sh"],
            cwd=self.root,
            env={**inherited, "PATH": path, "WEFT_MIN_FREE_MB": "1", **environ},
            capture_output=True,
            text=True,
            check=False,
        )

    def installs(self) -> list[str]:
        """What pip was asked to install since the last call, without its options."""
        log = self.root / "pip.log"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return [re.sub(r"^-m pip install (--disable-pip-version-check|--quiet| )*", "", line) for line in lines]


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


LOCK, PROJECT, JRE = "-r requirements.lock", "--no-deps -e .", "-r requirements-jre.lock"


def assert_refused(sandbox: Sandbox, done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, f"one sentence, not:\n{done.stderr}"
    assert done.stderr.startswith("setup: Weft needs ")
    assert all(word in done.stderr for word in words), done.stderr
    assert not (sandbox.root / ".venv").exists()


def test_old_pythons_are_refused_in_one_sentence(sandbox: Sandbox) -> None:
    assert_refused(sandbox, sandbox.run(), "Python 3.11 or newer")


def test_too_little_disk_is_refused_in_one_sentence(sandbox: Sandbox) -> None:
    sandbox.program("python3.11", GOOD_PYTHON)
    assert_refused(sandbox, sandbox.run(WEFT_MIN_FREE_MB="999999999999"), "999999999999 MB of free disk")


@pytest.mark.parametrize("name", PYTHONS)
def test_any_new_python_on_path_will_do(sandbox: Sandbox, name: str) -> None:
    sandbox.program(name, GOOD_PYTHON)
    done = sandbox.run()
    assert done.returncode == 0, done.stderr
    assert sandbox.installs() == [LOCK, PROJECT]


def test_the_python_that_the_user_names_comes_first(sandbox: Sandbox) -> None:
    mine = sandbox.program("elsewhere/mine", GOOD_PYTHON.replace("3.14.0", "3.12.7"))
    sandbox.program("python3.14", GOOD_PYTHON)
    done = sandbox.run(PYTHON=str(mine))
    assert done.returncode == 0
    assert "Python 3.12.7" in done.stderr


def test_an_old_python_named_by_the_user_is_said_and_passed_over(sandbox: Sandbox) -> None:
    sandbox.program("python3.12", GOOD_PYTHON)
    done = sandbox.run(PYTHON="python3.11")
    assert done.returncode == 0
    assert "PYTHON=python3.11 is not Python 3.11 or newer" in done.stderr


@pytest.fixture
def ready(sandbox: Sandbox) -> Sandbox:
    """A sandbox that is set up."""
    sandbox.program("python3.11", GOOD_PYTHON)
    done = sandbox.run()
    assert done.returncode == 0, done.stderr
    assert sandbox.installs() == [LOCK, PROJECT]
    return sandbox


def test_a_second_run_does_nothing_and_needs_neither_disk_nor_python(ready: Sandbox) -> None:
    ready.program("python3.11", OLD_PYTHON)
    done = ready.run(WEFT_MIN_FREE_MB="999999999999")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert ready.installs() == []


@pytest.mark.parametrize(("name", "again"), [("requirements.lock", LOCK), ("pyproject.toml", PROJECT)])
def test_a_changed_file_is_installed_again_alone(ready: Sandbox, name: str, again: str) -> None:
    (ready.root / name).write_text("# changed\n")
    assert ready.run().returncode == 0
    assert ready.installs() == [again]


def test_a_moved_checkout_is_installed_again(ready: Sandbox) -> None:
    ready.root = ready.root.rename(ready.root.with_name("moved"))
    assert ready.run().returncode == 0
    assert ready.installs() == [LOCK, PROJECT]


def test_a_venv_whose_python_is_gone_is_made_again(ready: Sandbox) -> None:
    (ready.root / ".venv" / "bin" / "python").write_text(OLD_PYTHON)
    done = ready.run()
    assert done.returncode == 0
    assert "making .venv" in done.stderr


def test_an_installation_that_failed_is_tried_again(sandbox: Sandbox) -> None:
    sandbox.program("python3.11", GOOD_PYTHON)
    failed = sandbox.run(PIP_STATUS="1")
    assert failed.returncode == 1
    assert "could not install requirements.lock" in failed.stderr
    assert sandbox.installs() == [LOCK]
    assert sandbox.run().returncode == 0
    assert sandbox.installs() == [LOCK, PROJECT]


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "18.0.1", "170.1"])
def test_without_a_java_for_spark_one_is_installed_once(ready: Sandbox, version: str) -> None:
    ready.program("java", JAVA.format(version))
    assert ready.run().returncode == 0
    assert ready.installs() == [JRE]
    assert ready.run().returncode == 0
    assert ready.installs() == []


@pytest.mark.parametrize("major", ACCEPTED_MAJORS)
@pytest.mark.parametrize("version", ["{}", "{}.0.4", "{}-ea"])
def test_every_java_that_weft_accepts_is_accepted_here(ready: Sandbox, major: int, version: str) -> None:
    ready.program("java", JAVA.format("11.0.2"))
    home = ready.program("jdk/bin/java", JAVA.format(version.format(major))).parents[1]
    assert ready.run(JAVA_HOME=str(home)).returncode == 0
    assert ready.installs() == []


def test_no_java_that_weft_refuses_is_accepted_here() -> None:
    accepted = re.search(r"version.*\(([0-9|]+)\)", (ROOT / "scripts" / "setup.sh").read_text())
    assert accepted is not None
    assert tuple(int(major) for major in accepted[1].split("|")) == ACCEPTED_MAJORS


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-jre.lock"])
def test_locks_pin_and_hash_every_package_and_name_no_place(name: str) -> None:
    text = re.sub(r"^\s*#.*\n", "", (ROOT / name).read_text(), flags=re.MULTILINE)
    packages = re.sub(r"\\\n\s*", "", text).splitlines()
    assert packages
    for line in packages:
        assert re.fullmatch(r"[\w.-]+(\[[\w,]+\])?==[\w.]+( ; [^\\]+?)?( --hash=sha256:[0-9a-f]{64})+", line), line
