"""Which texts are addresses of a file system, and which are paths on the local disk."""

from __future__ import annotations

import os
import re

from weft.errors import StreamError

# A scheme has more letters than the drives that some systems put before a path.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/|file:")


def is_address(text: str) -> bool:
    """Whether a text names a file system by its scheme, as Hadoop reads it; anything else is a path.

    >>> is_address("s3a://bucket/state"), is_address("file:/state"), is_address("state"), is_address("/a:/b")
    (True, True, False, False)
    """
    return _ADDRESS.match(text) is not None


def absolute_path(path: str | os.PathLike[str] | None) -> str | None:
    """A local path as it is from anywhere; an address with a scheme stays.

    >>> absolute_path("/in/../rows"), absolute_path("s3a://bucket/rows")
    ('/rows', 's3a://bucket/rows')
    """
    if path is None:
        return None
    if not isinstance(path, str | os.PathLike):
        raise StreamError("bad-source", f"the path {str(path)[:60]!r} is no path", hint="Give a text or a Path.")
    text = os.fspath(path)
    return text if is_address(text) else os.path.abspath(text)


def is_relative(path: str) -> bool:
    """Whether a path is local and depends on the working directory."""
    return "://" not in path and not path.startswith(("file:", "/"))


def path_from(folder: str | None, path: str | os.PathLike[str] | None, absolute: str | None) -> str | None:
    """The path that is kept of a relative path: from the state folder on, so that both can be moved together.

    None for any other path, and for a state folder that is not on the local disk.
    """
    if folder is None or path is None or absolute is None or not is_relative(os.fspath(path)):
        return None
    return os.path.relpath(absolute, folder)
