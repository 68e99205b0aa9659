"""Logs that programs can read: a JSON object a line, with everything that the log call knew.

Weft logs through Python's own `logging`, under `weft`: `weft.tick.ticker` for ticks, left-out rows and stopped queries,
`weft.store` for files and the catalog. Nothing is written until somebody asks for it, here or with a handler.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime
from typing import Any

# What every record has; the rest is what the call said with `extra`.
_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """A record as a line of JSON: time (UTC), level, logger, message, and the fields of the call."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields |= {name: value for name, value in vars(record).items() if name not in _USUAL}
        if record.exc_info:
            fields["error"] = self.formatException(record.exc_info)
        return json.dumps(fields, default=str)


def log_to(target: str | os.PathLike[str], level: str = "INFO") -> logging.Handler:
    """Write Weft's logs to a file, or to the error stream for "-"; returns the handler, for who wants to end that."""
    handler = logging.StreamHandler(sys.stderr) if os.fspath(target) == "-" else logging.FileHandler(target)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("weft")
    logger.setLevel(level)
    logger.addHandler(handler)
    return handler
