"""What the exit status says about whose turn it is."""

from __future__ import annotations

USERS_FAULT = 1
WEFTS_FAULT = 2
INTERRUPTED = 130


class OurFault(Exception):
    """Weft noticed that it is wrong itself: the message says all there is to say, and the exit status is ours."""
