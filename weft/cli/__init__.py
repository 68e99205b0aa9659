"""The command line: a thin skin over the same calls that scripts make."""

from weft.cli.app import app, main

__all__ = ["app", "main"]
