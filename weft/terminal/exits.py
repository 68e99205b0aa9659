"""The exit statuses of the command line: whose fault ended a command."""

from __future__ import annotations

USERS_FAULT = 1
WEFTS_FAULT = 2
INTERRUPTED = 130


class OurFault(Exception):
    """A fault of Weft that it noticed itself: the message says all there is to say."""
