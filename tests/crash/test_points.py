"""T1: a process that dies at any named point, at any passage of it, changes no answer and leaves no file behind."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from tests.crash.chain import Nursery, Report, age, check, check_answers, nursery, report_of, run, run_chain
from weft.failpoint import KILLED, POINTS

# Passed around Spark's own work only.
NEED_SPARK = ("batch-begin", "batch-marked")
# Passed where rows are kept for queries that come late, which tests/tick/test_filling.py has.
FILLING = ("fill-planned", "fill-written", "fill-inside", "fill-after")
PLAIN = tuple(point for point in POINTS if point not in (*NEED_SPARK, *FILLING))
# With Spark a kill costs a start of Java, 15 seconds of a core: `make stress` has these, and all points in another test.
CHAIN = ("batch-begin:2", "batch-marked:2", "spark-running:2")
# The places around transactions, in the order in which a life comes by.
ON_POSTGRESQL = ("register-inside:1", "commit-inside:1", "finish-inside:1", "commit-end:2", "tend-inside:1",
                 "place-inside:1", "fail-inside:1", "drop-inside:1", "garbage-between:1")
# Passed once in a process, or in a whole life.
ONCE = ("catalog-create", "catalog-migrate", "fail-inside", "orphans-found")
SHIFT = int(os.environ.get("WEFT_SEED", "0"))


@pytest.fixture(scope="module")
def children() -> Iterator[Nursery]:
    with nursery() as made:
        yield made


@pytest.fixture(scope="module")
def undisturbed(children: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The life of a process that nobody killed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    assert children.live(folder) == 0
    return report_of(folder)


def test_an_undisturbed_life_has_the_right_answers(undisturbed: Report) -> None:
    check(undisturbed, undisturbed["hash"])
    check_answers(undisturbed)
    assert undisturbed["queries"]["failing"]["status"] == "failed"
    assert undisturbed["totals"]["late"] > 0 and undisturbed["totals"]["dead"] == {"no event time": 12}


def test_every_point_is_passed_without_spark_or_known_not_to_be(undisturbed: Report) -> None:
    elsewhere = {*NEED_SPARK, *FILLING, "spark-running", "catalog-migrate"}
    assert set(undisturbed["passed"]) == set(POINTS) - elsewhere
    assert len(PLAIN) >= 20


def killed_and_recovered(children: Nursery, folder: Path, trap: str, want: str) -> None:
    """One process dies at the trap, another one lives on to the end."""
    if trap.startswith("catalog-migrate"):
        age(folder)
    assert children.live(folder, trap) == KILLED
    assert not (folder / "report").exists()
    assert children.live(folder) == 0
    check(report_of(folder), want)


def test_kills_at_every_point_change_nothing(
    children: Nursery, undisturbed: Report, place: Path, tell: Callable[[str], None]
) -> None:
    """Each point kills the process that recovers from the one before, a few points in every life."""
    chance = Random(f"points {SHIFT}")
    points = chance.sample(PLAIN, len(PLAIN))
    traps = [f"{point}:{1 if point in ONCE else chance.randint(1, 2)}" for point in points]
    tell(f"WEFT_SEED={SHIFT}: {' '.join(traps)}")
    assert 1 < run_chain(children.live, place, traps, undisturbed["hash"]) < len(PLAIN)


def test_kills_change_nothing_on_postgresql(
    children: Nursery, undisturbed: Report, place: Path, postgres_url: str
) -> None:
    """One life whose catalog is on a server, which outlives every process that dies in the middle of a transaction."""
    (place / "0").mkdir()
    (place / "0" / "catalog").write_text(postgres_url)
    assert run_chain(children.live, place, ON_POSTGRESQL, undisturbed["hash"]) == 1
    assert not (place / "0" / "state" / "catalog.sqlite").exists()


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("point", PLAIN)
def test_a_kill_at_any_passage_changes_nothing(
    point: str, children: Nursery, undisturbed: Report, place: Path
) -> None:
    for passage in range(1, undisturbed["passed"].get(point, 1) + 1):
        killed_and_recovered(children, place / str(passage), f"{point}:{passage}", undisturbed["hash"])


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("chain", [CHAIN[1:], CHAIN], ids=["two", "three"])
def test_kills_around_spark_change_nothing(chain: tuple[str, ...], undisturbed: Report, tmp_path: Path) -> None:
    """Kills in a row, each of the process that recovers from the one before; and the same answers as without Spark."""
    assert run_chain(run, tmp_path, chain, undisturbed["hash"]) == 1


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("turn", range(5))
def test_kills_at_every_point_with_spark_change_nothing(
    turn: int, undisturbed: Report, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    """All points in random order, each at another passage in every turn."""
    chance = Random(f"points {turn}")
    points = chance.sample([*NEED_SPARK, *PLAIN], len(NEED_SPARK) + len(PLAIN))
    passages = {point: 1 if point in ONCE else undisturbed["passed"].get(point, turn + 1) for point in points}
    traps = [f"{point}:{1 + turn % passages[point]}" for point in points]
    tell(f"turn {turn}: {' '.join(traps)}: {run_chain(run, tmp_path, traps, undisturbed['hash'])} lives")
