#!/usr/bin/env bash
# Makes .venv ready to run Weft, and does nothing where it is ready already.
#
#   PYTHON             the Python to use; otherwise the first of python3.14 .. python3.11, python3 that is new enough
#   WEFT_MIN_FREE_MB   how much room a first installation wants on the disk (3500); 1.2 GB of it stay in use, the rest
#                      is what pip unpacks and builds on the way, because PySpark comes as a source archive
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$root"
venv=.venv
min_free_mb=${WEFT_MIN_FREE_MB:-3500}

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# $1 runs, is 3.11 or newer, and has module $2
new_enough() { "$1" -c "import sys, $2; sys.exit(sys.version_info < (3, 11))" >/dev/null 2>&1; }

find_python() {
    local candidate
    for candidate in ${PYTHON:+"$PYTHON"} python3.14 python3.13 python3.12 python3.11 python3; do
        # ensurepip: without it, as on a Debian without python3-venv, no virtual environment can be made
        if new_enough "$candidate" ensurepip; then
            printf '%s\n' "$candidate"
            return
        fi
        [ "$candidate" != "${PYTHON:-}" ] || say "PYTHON=$PYTHON is not Python 3.11 or newer with venv, looking for another."
    done
    fail "Weft needs Python 3.11 or newer with the venv module; install one (on Debian also python3-venv), or name it: PYTHON=/path/to/python3 make setup."
}

require_disk() {
    local free_mb
    free_mb=$(df -Pk "$root" | awk 'NR == 2 { print int($4 / 1024) }') || return 0
    [ "$free_mb" -ge "$min_free_mb" ] ||
        fail "Weft needs $min_free_mb MB of free disk for its Python packages, but $root has only $free_mb MB; free some, or clone Weft on a larger disk."
}

# A stamp in the venv keeps the checksum of what was installed; the root is in it because a moved venv is a broken one.
checksum() { { printf '%s\n' "$root"; cat "$@"; } | cksum; }
installed() { [ "$(cat "$venv/$1.stamp" 2>/dev/null)" = "$(checksum "$1")" ]; }
stamp() { checksum "$1" >"$venv/$1.stamp"; }

pip_install() {
    local quiet=--quiet
    [ ! -t 2 ] || quiet=
    # pip works beside what it installs: one disk to check, and a small /tmp does not matter
    rm -rf "$venv/tmp" && mkdir "$venv/tmp"
    TMPDIR="$root/$venv/tmp" "$venv/bin/python" -m pip install --disable-pip-version-check $quiet "$@" >&2
}

make_venv() {
    local python
    ! new_enough "$venv/bin/python" pip || return 0
    python=$(find_python)
    require_disk
    say "making $venv with $("$python" --version 2>&1)."
    "$python" -m venv --clear "$venv" || fail "$python could not make $venv; the lines above say why."
}

install_packages() {
    if ! installed requirements.lock; then
        # a later change of the lock replaces a few packages; only the first installation is large
        [ -e "$venv/requirements.lock.stamp" ] || require_disk
        say "installing the packages of requirements.lock; PySpark alone is half a gigabyte, so this takes some minutes."
        pip_install -r requirements.lock || fail "pip could not install requirements.lock; the lines above say why."
        stamp requirements.lock
    fi
    if ! installed pyproject.toml; then
        pip_install --no-deps -e . || fail "pip could not install Weft itself; the lines above say why."
        stamp pyproject.toml
    fi
}

# Keep in step with ACCEPTED_MAJORS in weft/spark/java.py; tests/test_setup.py holds the two together.
good_java() { [[ $("$1" -version 2>&1) =~ version\ \"(17|21|25)[^0-9] ]]; }

install_java() {
    ! good_java "${JAVA_HOME:-/nonexistent}/bin/java" || return 0
    ! good_java java || return 0
    ! installed requirements-jre.lock || return 0
    say "no Java 17, 21 or 25 by JAVA_HOME or on PATH: installing a small one into $venv."
    pip_install -r requirements-jre.lock ||
        fail "there is no Java for Spark, and pip could not install one; install a JDK 17, 21 or 25 and set JAVA_HOME."
    stamp requirements-jre.lock
}

make_venv
install_packages
install_java
rm -rf "$venv/tmp"
