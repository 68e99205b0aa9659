"""Weft: thousands of continuous SQL queries over a few streams, for little more than the price of one.

Names are loaded when they are first used: importing this package loads no Spark, no pandas and no database.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.engine import Engine
    from weft.errors import ConfigError, EngineError, SqlError, StateError, StreamError, WeftError
    from weft.handle import ContinuousQuery
    from weft.rows import StreamRows
    from weft.tick.events import QueriesStopped, TickCommitted, TickFailed, WindowsClosed

__all__ = [
    "ConfigError",
    "ContinuousQuery",
    "Engine",
    "EngineError",
    "QueriesStopped",
    "SqlError",
    "StateError",
    "StreamError",
    "StreamRows",
    "TickCommitted",
    "TickFailed",
    "WeftError",
    "WindowsClosed",
]

_EVENTS = ("QueriesStopped", "TickCommitted", "TickFailed", "WindowsClosed")
_MODULES = {
    "Engine": "weft.engine",
    "ContinuousQuery": "weft.handle",
    "StreamRows": "weft.rows",
    **dict.fromkeys(_EVENTS, "weft.tick.events"),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES.get(name, "weft.errors")), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
