"""What the exit status says about whose turn it is."""

from __future__ import annotations

THEIRS = 1
OURS = 2
INTERRUPTED = 130


class OurFault(Exception):
    """Weft found itself wrong: the message says all there is to say, and the exit status is ours."""
