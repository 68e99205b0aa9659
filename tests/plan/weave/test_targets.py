"""The targets of the benchmark that are counts and not times, at full size; and that the benchmark writes its report."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import weave, weave_figures, weave_targets
from benchmarks.weave_report import write_report

pytestmark = pytest.mark.slow


def quiet(_: str) -> None:
    """Progress that nobody watches."""


def test_refined_plans_against_exhaustive_search() -> None:
    assert all(target.reached for target in weave_targets.against_exhaustive(500, quiet))


def test_operations_with_and_without_speed_ups() -> None:
    targets, totals = weave_targets.count_operations(250, quiet)
    assert all(target.reached for target in targets)
    assert list(totals.values()) == sorted(totals.values(), reverse=True)


def test_a_thousand_windows_one_by_one() -> None:
    assert all(target.reached for target in weave_targets.incremental(1_000, quiet))


def test_the_claims_about_the_number_of_windows_hold() -> None:
    figures = weave_figures.against_shared((50, 250, 1_000), quiet)
    assert [text for figure in figures for text, holds in figure.claims if not holds] == []


def test_a_quick_run_writes_a_report(tmp_path: Path) -> None:
    weave.main(output=tmp_path, quick=True)
    page = (tmp_path / "weave.md").read_text()
    assert page.count("### Figure") == 9
    assert (tmp_path / "weave.svg").read_text().lstrip().startswith("<?xml")


def test_a_target_that_was_missed_says_so(tmp_path: Path) -> None:
    figure = weave_figures.Figure(4, "title", "x", "y")
    figure.put("curve", 1, 2)
    figure.put("curve", 2, 3)
    figure.claim("it falls", weave_figures.goes_down([2, 3]))
    write_report(tmp_path, [weave_targets.Target("speed", "1", "at least 2", False)], [figure])
    page = (tmp_path / "weave.md").read_text()
    assert "| speed | 1 | at least 2 | no |" in page and "| 4 | it falls | no |" in page
