"""What was measured against what was to be reached: said at once, shown as a table, written as Markdown."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.checks import text_of

console = Console()


def measure(
    what: str, value: float, target: str, bound: float, more_is_better: bool = True, **detail: Any
) -> dict[str, Any]:
    """One line of the table."""
    reached = value >= bound if more_is_better else value <= bound
    console.log(f"{what}: {text_of(value)} ({target}, {'reached' if reached else 'NOT reached'})")
    return {"what": what, "value": value, "target": target, "reached": reached, **detail}


def show(results: list[dict[str, Any]]) -> None:
    """The whole table, for people."""
    table = Table("what", "measured", "target", "reached")
    for one in results:
        table.add_row(one["what"], text_of(one["value"]), one["target"], "yes" if one["reached"] else "NO")
    console.print(table)


def markdown(results: list[dict[str, Any]]) -> list[str]:
    """The same as lines of Markdown."""
    return [
        "| what | measured | target | reached |",
        "|---|---|---|---|",
        *(
            f"| {one['what']} | {text_of(one['value'])} | {one['target']} | {'yes' if one['reached'] else 'no'} |"
            for one in results
        ),
    ]
