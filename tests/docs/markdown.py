"""What a Markdown page holds that can be checked: fenced blocks, headings, links and names in code quotes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FENCE = "```"


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text without the fences, and the line of its opening fence."""

    language: str
    text: str
    line: int


def pages() -> list[Path]:
    """The README and every page under docs/."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order; one that is not closed is an error."""
    found: list[Block] = []
    inside: list[str] | None = None
    language, start = "", 0
    for number, line in enumerate(page.read_text(encoding="utf-8").split("\n"), start=1):
        if inside is None and line.startswith(FENCE):
            inside, language, start = [], line.removeprefix(FENCE).strip(), number
        elif inside is not None and line == FENCE:
            found.append(Block(language, "\n".join(inside), start))
            inside = None
        elif inside is not None:
            inside.append(line)
    if inside is not None:
        raise ValueError(f"{page}:{start}: the block is not closed")
    return found


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def headings(page: Path) -> list[str]:
    """The headings of a page, without their signs."""
    return [found[1].strip() for found in re.finditer(r"^#+ (.+)$", prose(page), re.MULTILINE)]


def quoted(page: Path) -> list[str]:
    """Everything between single back quotes outside fenced blocks."""
    return re.findall(r"`([^`\n]+)`", prose(page))


def links(page: Path) -> list[str]:
    """The targets of all links and pictures."""
    return re.findall(r"\]\(([^)\s]+)\)", prose(page)) + re.findall(r'(?:src|srcset)="([^"]+)"', prose(page))


def generated(page: Path, name: str) -> str:
    """The text between `<!-- name -->` and `<!-- /name -->`."""
    found = re.search(_marked(name), page.read_text(encoding="utf-8"), re.DOTALL)
    if found is None:
        raise ValueError(f"{page} has no part {name!r}")
    return found[2]


def regenerate(page: Path, name: str, text: str) -> None:
    """Put another text between the two marks."""
    whole = page.read_text(encoding="utf-8")
    page.write_text(re.sub(_marked(name), lambda found: f"{found[1]}{text}{found[3]}", whole, flags=re.DOTALL),
                    encoding="utf-8")


def replace_block(page: Path, block: Block, text: str) -> None:
    """Put another text into a block; blocks after it may move."""
    lines = page.read_text(encoding="utf-8").split("\n")
    end = lines.index(FENCE, block.line)
    assert lines[block.line : end] == block.text.split("\n") or not block.text, "the page changed under our hands"
    lines[block.line : end] = text.split("\n")
    page.write_text("\n".join(lines), encoding="utf-8")


def _marked(name: str) -> str:
    return rf"(<!-- {re.escape(name)} -->\n)(.*?)(<!-- /{re.escape(name)} -->)"
