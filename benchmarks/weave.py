"""`python -m benchmarks.weave`: Weave Share against its targets, and the paper's figures from our runs.

No Spark: only plans are made. A full run takes some minutes of one core; `--quick` is for a look whether it runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks import weave_figures as draw
from benchmarks import weave_targets as measure
from benchmarks.weave_report import mark, write_report

console = Console()


def log(text: str) -> None:
    console.log(text)


def main(
    output: Annotated[Path, typer.Option(help="Where the report goes.")] = Path("docs/benchmarks"),
    quick: Annotated[bool, typer.Option(help="Small sizes: the numbers are then of no worth.")] = False,
) -> None:
    """Measure the optimizer of windows, and draw Figures 4 to 11 and 14 of Weave Share."""
    sizes = (20, 60, 300, 100) if quick else (500, 250, 2_000, 1_000)
    sets, counted, planned, arriving = sizes
    operations, totals = measure.count_operations(counted, log)
    targets = [
        *measure.against_exhaustive(sets, log),
        *operations,
        *measure.planning_time(planned, log),
        *measure.incremental(arriving, log),
    ]
    counts = (20, 50, 80) if quick else draw.COUNTS
    figures = [
        draw.policies(4, draw.LOW, counts, log),
        draw.policies(5, draw.MEDIUM, counts, log),
        *draw.against_shared(counts, log),
        draw.over_rates((20, 50) if quick else (250, 500, 1_000, 2_000), log),
        draw.over_overlaps(50 if quick else 1_000, log),
        draw.over_skews((20, 50) if quick else (250, 500, 1_000), log),
        draw.over_tolerances(40 if quick else 200, log),
        draw.speed_ups(totals),
    ]
    claims = [holds for figure in figures for _, holds in figure.claims]
    targets.append(
        measure.Target(
            f"claims of Figures 4 to 11 and 14 that hold, of {len(claims)}", str(sum(claims)), "all", all(claims)
        )
    )
    show(targets, figures)
    write_report(output, targets, figures)


def show(targets: list[measure.Target], figures: list[draw.Figure]) -> None:
    table = Table("what", "measured", "target", "reached")
    for one in targets:
        table.add_row(one.what, one.value, one.target, mark(one))
    console.print(table)
    claims = Table("figure", "the paper says", "so do our runs")
    for figure in figures:
        for text, holds in figure.claims:
            claims.add_row(str(figure.number), text, "yes" if holds else "no")
    console.print(claims)


if __name__ == "__main__":
    typer.run(main)
