"""The network as a picture: Mermaid for pages, Graphviz for paper. Boxes are nodes, arrows say what is made of what."""

from __future__ import annotations

from weft.plan.network import Network, Node

FORMS = ("text", "mermaid", "graphviz")


def mermaid(network: Network) -> str:
    """A Mermaid flowchart; base nodes hang on the stream, derived nodes on their parents.

    >>> mermaid(Network("s", (), ()))
    'flowchart LR\\n    stream(["s"])'
    """
    lines = ["flowchart LR", f'    stream(["{network.stream}"])']
    for node in network.nodes:
        lines.append(f'    {node.id}["{_escape("<br/>".join(_box(node)))}"]')
        lines.append(f"    {node.parent or 'stream'} --> {node.id}")
    return "\n".join(lines)


def graphviz(network: Network) -> str:
    """A Graphviz digraph of the same network."""
    lines = [
        "digraph weft {",
        "  rankdir=LR;",
        "  node [shape=box];",
        f'  stream [label="{network.stream}" shape=oval];',
    ]
    for node in network.nodes:
        label = "\\n".join(part.replace("\\", "\\\\").replace('"', '\\"') for part in _box(node))
        lines.append(f'  {node.id} [label="{label}"];')
        lines.append(f"  {node.parent or 'stream'} -> {node.id};")
    return "\n".join([*lines, "}"])


def _box(node: Node) -> list[str]:
    """The lines of a node's box: group-by, how many statistics, windows and readers."""
    group = ", ".join(sorted(dimension.spelled for dimension in node.dimensions))
    counts = [
        _many(len(node.statistics), "statistic"),
        _many(len(node.windows), "window") if node.clock.sliced else "totals",
        _many(len(node.readers), "query", "queries"),
    ]
    return [f"({group})", ", ".join(counts)]


def _many(count: int, noun: str, plural: str = "") -> str:
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def _escape(text: str) -> str:
    """Text inside a Mermaid label: its own quotes are written as entities."""
    return (
        text.replace("&", "&amp;")
        .replace('"', "&quot;")
        .replace("<br/>", "\0")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\0", "<br/>")
    )
