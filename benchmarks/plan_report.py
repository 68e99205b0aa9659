"""The report of the optimizer's benchmark: Markdown with tables, and a plot of rows per second by policy."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import matplotlib

from benchmarks.checks import text_of
from benchmarks.measured import markdown

matplotlib.use("svg")

COLOURS = {"auto": "#4c78a8", "everything": "#f58518", "nothing": "#bab0ac"}
NAMES = {"auto": "as planned", "everything": "everything shared", "nothing": "nothing shared"}


def write_report(folder: Path, results: list[dict[str, Any]]) -> None:
    """Write optimizer.md and optimizer.svg."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        "# The optimizer's benchmark",
        "",
        f"`python -m benchmarks.optimizer`, part of `make bench`, on {platform.machine()}, Python "
        f"{platform.python_version()}, 2 cores. Medians of the runs, all policies by turns in one Spark session, over "
        "the same rows, with the same answers window by window. The first ticks of a run are left out: they compile, "
        "and teach the optimizer. Timings vary by a tenth from run to run: where the plan is the one that shares "
        "everything, as with many predicates, the ratio is nothing but that.",
        "",
        *markdown(results),
    ]
    plans = [one for one in results if "plan" in one]
    lines += ["", "![Rows per second by policy](optimizer.svg)", "", "## Workloads", ""]
    lines += [
        "| workload | queries | as planned | everything shared | nothing shared | the plan | predicted over measured "
        "| price over measured |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {_name(one)}: {one['about']} | {one['queries']:,} | "
        + " | ".join(text_of(one["speeds"][policy]) if policy in one["speeds"] else "not run" for policy in NAMES)
        + f" | {one['plan']} | {one['prediction']:.2f} | {one['price']:.2f} |"
        for one in plans
    ]
    others = [one for one in results if "speeds" in one and "plan" not in one]
    lines += ["", "## Predicates", "", "| distinct predicates | rows per second |", "|---|---|"]
    lines += [f"| {name} | {text_of(speed)} |" for one in others for name, speed in one["speeds"].items()]
    (folder / "optimizer.md").write_text("\n".join(lines) + "\n")
    _plot(folder / "optimizer.svg", {_name(one): one["speeds"] for one in plans})


def _name(one: dict[str, Any]) -> str:
    return str(one["what"]).split(":")[0]


def _plot(path: Path, speeds: dict[str, dict[str, float]]) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 0.9 * len(speeds) + 1.2))
    names = list(speeds)[::-1]
    for place, policy in enumerate(NAMES):
        values = [speeds[name].get(policy, 0.0) for name in names]
        heights = [position - (place - 1) * 0.27 for position in range(len(names))]
        bars = axes.barh(heights, values, height=0.25, color=COLOURS[policy], label=NAMES[policy])
        axes.bar_label(bars, labels=[text_of(value) if value else "" for value in values], padding=3, fontsize=7)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_xlabel("rows per second")
    axes.legend(fontsize=8, loc="lower right")
    axes.margins(x=0.12)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
