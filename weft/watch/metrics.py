"""A stream in numbers: from its newest committed state, what was said of it in the catalog and, where this process runs
it, from its ticks."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from weft.errors import StateError
from weft.segments.segment import EARLIEST, LATEST
from weft.watch.status import FAILED, RUNNING, process, status_of

if TYPE_CHECKING:
    from weft.store.catalog import Catalog
    from weft.store.state import StreamState

# A process that dies between a commit and the end of its tick leaves a tick that nobody tells of; not so many in a row.
LOOK_BACK = 10


class Running(Protocol):
    """Who runs a stream in this process, or ran it last."""

    def is_active(self) -> bool:
        """Whether it runs."""

    @property
    def trouble(self) -> BaseException | None:
        """What ended it, None for nothing."""

    @property
    def said(self) -> dict[str, Any]:
        """How the stream fares, as it was said here last."""


def stream_metrics(
    state: StreamState,
    queries: int,
    catalog: Catalog,
    runner: Running | None,
    told: Mapping[str, Any],
    plan: Mapping[str, Any],
    retain: str | None = None,
) -> dict[str, Any]:
    """What `engine.metrics()` says of a stream; docs/api.md has the meaning of every key.

    `told` is the newest tick that this process ran, `plan` the plan in numbers, as far as this process knows them;
    `retain` is for how long the stream keeps its rows.
    """
    newest, synopses = state.max_event_time, state.synopses.values()
    last_tick = _last_tick(state, catalog, told)
    return {
        **_status(state.stream, catalog, runner),
        "last_tick_at": last_tick.get("committed_at"),
        "rows": state.totals.get("rows", 0),
        "late_rows": state.totals.get("late", 0),
        "dead_letters": dict(state.totals.get("dead", {})),
        "ticks": state.totals.get("ticks", 0),
        "batch_id": state.batch_id,
        "watermark": state.watermark,
        "max_event_time": newest,
        "queries": queries,
        "nodes": len(synopses),
        "state_rows": sum(synopsis.rows for synopsis in synopses),
        "state_bytes": sum(synopsis.bytes for synopsis in synopses),
        "state_files": len({file.path for synopsis in synopses for file in synopsis.files}),
        "kept": _kept(state, retain),
        "lag_seconds": None if newest is None else round(time.time() - newest / 1e6, 3),
        "last_tick": last_tick,
        "plan": dict(plan),
    }


def _kept(state: StreamState, retain: str | None) -> dict[str, Any]:
    """The kept rows in numbers; `since` is None where nothing is kept, and where all rows that ever came are."""
    kept = state.kept
    return {
        "retain": retain,
        "rows": kept.rows,
        "bytes": kept.bytes,
        "files": len(kept.files),
        "since": kept.since if EARLIEST < kept.since < LATEST else None,
        "until": max((file.time_to for file in kept.files), default=None),
    }


def _status(stream: str, catalog: Catalog, runner: Running | None) -> dict[str, Any]:
    """How the stream fares: as this process knows where it runs it or ran it last, else as the catalog says."""
    if runner is not None and runner.is_active():
        # No catalog is asked: a catalog that is down must not hide that the stream runs, or what it waits for.
        return {**status_of(runner.said), "status": RUNNING, "error": None, "process": process()}
    trouble = None if runner is None else runner.trouble
    try:
        with catalog.read() as reader:
            said = status_of(reader.status(stream))
    except StateError:
        if runner is None:
            raise
        said = status_of(runner.said)
    if trouble is not None and said["process"] in (None, process()):
        return {**said, "status": FAILED, "error": str(trouble), "process": process()}
    return said


def _last_tick(state: StreamState, catalog: Catalog, told: Mapping[str, Any]) -> dict[str, Any]:
    """How the newest tick that is over went, whoever ran it; a tick that is under way could be told only in part.

    `told` is the newest tick that this process ran.
    """
    if told.get("batch_id") == state.batch_id:
        return dict(told)
    # A catalog that is down says nothing of it; of the stream there is more to tell.
    with suppress(StateError), catalog.read() as reader:
        for number in range(state.batch_id, max(-1, state.batch_id - LOOK_BACK), -1):
            logged = reader.logged_tick(state.stream, number)
            if logged is not None and "seconds" in logged.detail:
                return dict(logged.detail)
    return {}
