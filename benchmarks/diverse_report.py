"""The report of the benchmark of diverse queries: Markdown with tables, and a plot against each query alone."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import matplotlib

from benchmarks.checks import text_of
from benchmarks.measured import markdown

matplotlib.use("svg")

NAMES = {"auto": "as planned", "everything": "everything shared", "nothing": "nothing shared"}
INTRODUCTION = """Medians of the rounds, all sides by turns in one process, over the same rows. \
A warm tick of Weft is from one tick's end to the next, with all that Spark does around it; the first ticks of a run \
are left out. Each alone is DuckDB with two threads, which answers every query by itself over the rows of the tick, in \
memory already, one query after the other; where a tick has 2,000 files, it has to read them too. Spark's floor is a \
stream over the same files, with the settings that Weft starts it with, whose batches do nothing. It is taken off \
Weft's tick. Some answers of every workload are compared with DuckDB's over all rows of a closed window."""


def write_report(folder: Path, results: list[dict[str, Any]]) -> None:
    """Write diverse.md and diverse.svg."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [one for one in results if "walls" in one]
    lines = [
        "# The benchmark of diverse queries",
        "",
        f"`python -m benchmarks.diverse`, part of `make bench`, on {platform.machine()}, Python "
        f"{platform.python_version()}, 2 cores. {INTRODUCTION}",
        "",
        *markdown(results),
        "",
        "![A warm tick of Weft and each query alone](diverse.svg)",
        "",
        "## Workloads",
        "",
        *_sides(rows),
        "",
        "Seconds of a warm tick with Spark's floor in it, by policy, and what was predicted of it without the floor:",
        "",
        *_policies(rows),
        "",
        "Where the time goes, in seconds:",
        "",
        "| workload | stages | Spark's floor |",
        "|---|---|---|",
        *(f"| {_name(one)} | {_seconds(one['stages'])} | {_seconds(one['floors'])} |" for one in rows),
        "",
        "## Rows per second",
        "",
        "| what | rows per second |",
        "|---|---|",
        *(f"| {name} | {text_of(speed)} |" for one in results for name, speed in one.get("speeds", {}).items()),
        "",
        *(f"- {one['what']}: {one['about']}." for one in results if "about" in one and "walls" not in one),
    ]
    (folder / "diverse.md").write_text("\n".join(lines).rstrip() + "\n")
    _plot(folder / "diverse.svg", rows)


def _sides(rows: list[dict[str, Any]]) -> list[str]:
    return [
        "| workload | queries | rows a tick | warm tick without the floor, s | each alone, s | over each alone | nodes "
        "| partial rows |",
        "|---|---|---|---|---|---|---|---|",
        *(
            f"| {_name(one)}: {one['about']} | {one['queries']:,} | {one['rows']:,} | {_above(one):.3f} "
            f"| {one['alone']:.3f} | {one['value']:.2f} | {one['nodes']:,.0f} | {one['partial_rows']:,.0f} |"
            for one in rows
        ),
    ]


def _policies(rows: list[dict[str, Any]]) -> list[str]:
    return [
        f"| workload | {' | '.join(NAMES.values())} | predicted over measured | price over measured |",
        "|---|---|---|---|---|---|",
        *(
            f"| {_name(one)} | "
            + " | ".join(f"{one['walls'][policy]:.3f}" if policy in one["walls"] else "not run" for policy in NAMES)
            + f" | {one['prediction']:.2f} | {one['price']:.2f} |"
            for one in rows
        ),
    ]


def _name(one: dict[str, Any]) -> str:
    return str(one["what"]).split(":")[0]


def _above(one: dict[str, Any]) -> float:
    return float(one["wall"] - one["floors"]["nothing"])


def _seconds(parts: dict[str, float]) -> str:
    return ", ".join(f"{name} {seconds:.2f}" for name, seconds in parts.items())


def _plot(path: Path, rows: list[dict[str, Any]]) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 0.6 * len(rows) + 1.2))
    shown = rows[::-1]
    sides = {
        "Weft, without Spark's floor": ([max(_above(one), 0.001) for one in shown], "#4c78a8"),
        "each query alone": ([one["alone"] for one in shown], "#f58518"),
    }
    for place, (label, (values, colour)) in enumerate(sides.items()):
        heights = [position - (place - 0.5) * 0.36 for position in range(len(shown))]
        bars = axes.barh(heights, values, height=0.34, color=colour, label=label)
        axes.bar_label(bars, labels=[f"{value:.2f}" for value in values], padding=3, fontsize=7)
    axes.set_yticks(range(len(shown)), [_name(one) for one in shown], fontsize=8)
    axes.set_xscale("log")
    axes.set_xlabel("seconds of a tick (log scale)")
    axes.legend(fontsize=8, loc="lower right")
    axes.margins(x=0.12)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
