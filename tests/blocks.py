"""What tests count of the pieces that cover a window."""

from __future__ import annotations

from collections.abc import Sequence

from weft.plan.blocks import Piece, span


def blocks_in(pieces: Sequence[Piece], *, unit: int) -> int:
    """How many blocks above the slices the pieces name."""
    return sum((piece.end - piece.start) // span(unit, piece.level) for piece in pieces if piece.level)
