"""A state folder whose catalog is lost: it must not be taken for a new folder."""

from __future__ import annotations

from pathlib import Path

from weft.errors import StateError


def check_not_lost(root: Path) -> None:
    """Refuse a folder that has state and no catalog of it: a new catalog would count from nothing, and not tell."""
    catalog = root / "catalog.sqlite"
    if catalog.exists() and catalog.stat().st_size:
        return
    if holds_state(root):
        raise StateError(
            "catalog-lost",
            f"{root} holds state, but its catalog.sqlite is {'empty' if catalog.exists() else 'not there'}",
            hint="Restore catalog.sqlite from a backup, or start with another state folder.",
        )


def holds_state(root: Path) -> bool:
    """Whether a state folder has files that a catalog must have named."""
    segments = root / "segments"
    return segments.is_dir() and any(segments.iterdir())
