"""Weft: thousands of continuous SQL queries over a few streams, for little more than the price of one."""

from weft.engine import Engine
from weft.errors import ConfigError, EngineError, SqlError, StateError, StreamError, WeftError
from weft.handle import ContinuousQuery

__all__ = [
    "ConfigError",
    "ContinuousQuery",
    "Engine",
    "EngineError",
    "SqlError",
    "StateError",
    "StreamError",
    "WeftError",
]
