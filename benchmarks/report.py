"""The report of a run: Markdown with a table, and a plot of rows per second."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import matplotlib

from benchmarks.checks import text_of
from benchmarks.measured import markdown

matplotlib.use("svg")


def write_report(folder: Path, results: list[dict[str, Any]], rows: int) -> None:
    """Write sharing.md and sharing.svg."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        "# The sharing benchmark",
        "",
        f"`make bench` on {platform.machine()}, Python {platform.python_version()}, 2 cores; {rows:,} packets a run in "
        "micro-batches of one million, medians of the runs, both sides by turns in one Spark session.",
        "Every window of every query is finished and stored in the tick that closes it (`eager=True`).",
        "",
        *markdown(results),
    ]
    lines += ["", "![Rows per second](sharing.svg)", ""]
    speeds = {name: value for one in results for name, value in one.get("speed", {}).items()}
    lines += ["| workload | rows per second |", "|---|---|"]
    lines += [f"| {name} queries | {text_of(value)} |" for name, value in speeds.items()]
    (folder / "sharing.md").write_text("\n".join(lines) + "\n")
    _plot(folder / "sharing.svg", speeds)


def _plot(path: Path, speeds: dict[str, float]) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 0.6 * len(speeds) + 1.2))
    names = list(speeds)[::-1]
    bars = axes.barh(names, [speeds[name] for name in names], color="#4c78a8")
    axes.bar_label(bars, labels=[text_of(speeds[name]) for name in names], padding=4)
    axes.set_xscale("log")
    axes.set_xlabel("rows per second (log scale)")
    axes.margins(x=0.15)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
