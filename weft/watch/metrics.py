"""A stream in numbers: from its newest committed state, what was said of it in the catalog and, where this process runs
it, from its ticks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from weft.watch.status import FAILED, RUNNING, process, status_of

if TYPE_CHECKING:
    from weft.spark.runner import Runner
    from weft.store.catalog import Catalog
    from weft.store.state import StreamState
    from weft.tick.ticker import Ticker


def stream_metrics(
    ticker: Ticker, state: StreamState, queries: int, catalog: Catalog, runner: Runner | None
) -> dict[str, Any]:
    """What `engine.metrics()` says of one stream; docs/api.md has the meaning of every key."""
    newest, synopses = state.max_event_time, state.synopses.values()
    last_tick = _last_tick(ticker, state.batch_id, catalog)
    return {
        **_status(ticker.stream.name, catalog, runner),
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
        "state_rows": sum(one.rows for one in synopses),
        "state_bytes": sum(one.bytes for one in synopses),
        "state_files": sum(len(one.files) for one in synopses),
        "lag_seconds": None if newest is None else round(time.time() - newest / 1e6, 3),
        "last_tick": last_tick,
        "plan": _plan_metrics(ticker),
    }


def _status(stream: str, catalog: Catalog, runner: Runner | None) -> dict[str, Any]:
    """How the stream fares: as this process knows where it runs it or ran it last, else as the catalog says."""
    trouble = None if runner is None else runner.trouble
    with catalog.read() as reader:
        said = status_of(reader.status(stream))
    if runner is not None and runner.active:
        return {**said, "status": RUNNING, "error": None, "process": process()}
    if trouble is not None and said["process"] in (None, process()):
        return {**said, "status": FAILED, "error": str(trouble), "process": process()}
    return said


def _plan_metrics(ticker: Ticker) -> dict[str, Any]:
    """The plan in numbers, and how it was chosen, as far as this process knows."""
    searched, plan = ticker.optimizer.last, ticker.planned
    found = {} if plan is None else {"trees": len(plan.network.trees), "from_rows": len(plan.network.base)}
    prices = {} if searched is None else searched.found.prices
    return {**found, **{name: round(price, 4) for name, price in prices.items()}}


def _last_tick(ticker: Ticker, batch_id: int, catalog: Catalog) -> dict[str, Any]:
    """How the newest tick went, whoever ran it."""
    if ticker.last.get("batch_id") == batch_id:
        return dict(ticker.last)
    with catalog.read() as reader:
        logged = reader.logged_tick(ticker.stream.name, batch_id)
    return dict(logged.detail) if logged is not None else {}
