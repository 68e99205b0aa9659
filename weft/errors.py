"""Every error that Weft raises on purpose: what happened, where, and what to do about it.

    WeftError
    ├── SqlError        a query, expression or aggregate that is refused
    ├── StreamError     a stream that cannot be added or read
    ├── StateError      a state folder or catalog that cannot be used
    ├── EngineError     a call that does not fit what the engine is doing
    └── ConfigError     a weft.toml that cannot be used, with everything that is wrong with it

`code` is stable and kebab-case: scripts match on it, docs/errors.md lists it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Position:
    """Where in a text something stands; both counts start at one."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


class WeftError(Exception):
    """The root of the tree: a code, a factual sentence, and a hint that says what to do."""

    def __init__(self, code: str, message: str, *, hint: str = "", position: Position | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.position = position

    def __str__(self) -> str:
        where = f" ({self.position})" if self.position else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"[{self.code}] {self.message}{where}{hint}"


class SqlError(WeftError):
    """A query or expression is refused; nothing of it was kept."""


class StreamError(WeftError):
    """A stream cannot be added, opened or read."""


class StateError(WeftError):
    """The state folder or the catalog cannot be used as it is."""


class EngineError(WeftError):
    """A call does not fit what the engine holds or is doing."""


@dataclass(frozen=True)
class Problem:
    """A thing that is wrong with a configuration: in which file, where, what, and what to do about it."""

    file: str
    position: Position | None
    code: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        where = f":{self.position.line}:{self.position.column}" if self.position else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{self.file}{where}: [{self.code}] {self.message}{hint}"


class ConfigError(WeftError):
    """A configuration is refused; `problems` holds everything that is wrong with it."""

    def __init__(self, file: str, problems: tuple[Problem, ...]) -> None:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__("bad-config", f"{file} has {count}")
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join([*map(str, self.problems), super().__str__()])


def engine_closed() -> EngineError:
    """The error of whoever asks an engine that is closed."""
    return EngineError("engine-closed", "the engine is closed", hint="Open the state again: weft.Engine(...).")
