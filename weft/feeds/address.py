"""Which texts are addresses of a file system, and which are paths on the local disk."""

from __future__ import annotations

import re

# A scheme has more letters than the drives that some systems put before a path.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/|file:")


def is_address(text: str) -> bool:
    """Whether a text names a file system by its scheme, as Hadoop reads it; anything else is a path.

    >>> is_address("s3a://bucket/state"), is_address("file:/state"), is_address("state"), is_address("/a:/b")
    (True, True, False, False)
    """
    return _ADDRESS.match(text) is not None
