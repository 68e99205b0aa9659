"""`weft check`, `explain`, `queries` and `metrics`: they read, and never start Spark."""

from __future__ import annotations

from datetime import datetime
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.state import JsonOption, StateOption, complete_query, find_query, open_state
from weft.cli.tables import metrics_table, number_text, queries_table
from weft.errors import ConfigError, Problem
from weft.terminal.output import console, many, print_json, say, text_table
from weft.terminal.values import from_micros

if TYPE_CHECKING:
    from weft.engine import Engine
    from weft.plan.network import Network
    from weft.registry.registered import Registered

CHECK_EXAMPLES = """[bold]Examples[/bold]

weft check

weft check examples/payments/weft.toml --json"""
EXPLAIN_EXAMPLES = """[bold]Examples[/bold]

weft explain

weft explain top_talkers --state state/

weft explain --config weft.toml    (before anything has run)

weft explain --sql "SELECT port, count(*) FROM packets GROUP BY window(ts, '1 minute'), port"

weft explain --form mermaid > network.mmd"""
QUERIES_EXAMPLES = """[bold]Examples[/bold]

weft queries

weft queries 'tcp_*' --stream packets --json"""
METRICS_EXAMPLES = """[bold]Examples[/bold]

weft metrics

weft metrics top_talkers --json"""
RECENT = 5


def check(
    config: Annotated[str, typer.Argument(help="The configuration.")] = "weft.toml",
    as_json: JsonOption = False,
) -> None:
    """Check a configuration and every query in it, without Spark: all errors at once, with file, line and hint.

    Where there are none, one line a query says how much state it can need.
    """
    from weft.config import bounds, load_config

    try:
        settings = load_config(config)
    except ConfigError as error:
        if not as_json:
            raise
        print_json({"ok": False, "problems": [problem_json(problem) for problem in error.problems]})
        raise typer.Exit(1) from None
    if as_json:
        print_json({"ok": True, "problems": [], "streams": sorted(settings.streams),
                    "queries": sorted(settings.queries), "state": settings.state,
                    "bounds": {name: str(bound) for name, bound in bounds(settings).items()}})
    else:
        print(f"{config}: {many(len(settings.streams), 'stream')}, {many(len(settings.queries), 'query', 'queries')}, "
              "no problems")
        for name, bound in bounds(settings).items():
            print(f"  {name}: {bound}")


def problem_json(problem: Problem) -> dict[str, Any]:
    """A problem for scripts."""
    at = problem.position
    return {"file": problem.file, "line": at.line if at else None, "column": at.column if at else None,
            "code": problem.code, "message": problem.message, "hint": problem.hint}


def explain(
    name: Annotated[str | None, typer.Argument(help="A query; without one, the whole network.",
                                               autocompletion=complete_query)] = None,
    config: Annotated[str | None, typer.Option("--config", "-c", help="Plan this configuration, not a state.")] = None,
    sql: Annotated[str | None, typer.Option(help="A query not yet registered: what it would share and add.")] = None,
    form: Annotated[str, typer.Option(help="text, or of the whole network mermaid or graphviz.")] = "text",
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the network: what is computed from what, which query reads what, and what is not shared, with the reason.

    Of what is not shared the first hundred are shown, in JSON too; those of one query with its name.
    """
    if config is not None:
        from weft.config import load_config, networks
        from weft.plan.explain import explain_network

        planned = list(networks(load_config(config)))
        _explain(planned, "\n".join(map(explain_network, planned)), name, as_json)
        return
    with open_state(state) as engine:
        if sql is not None or form != "text":
            print(engine.explain(sql, form=form))
        elif name is not None:
            text = find_query(engine, name).explain()
            stream = engine.registry.query(name).row.stream
            _explain([engine.network(stream)], text, name, as_json)
        else:
            every = [engine.network(stream) for stream in sorted(engine.registry.streams())]
            _explain(every, engine.explain(), None, as_json)


def _explain(networks: list[Network], text: str, name: str | None, as_json: bool) -> None:
    if as_json:
        print_json({"streams": {network.stream: _network_json(network, name) for network in networks}})
    else:
        print(text)


def _network_json(network: Network, name: str | None) -> dict[str, Any]:
    from weft.plan.explain import first_refusals

    nodes = [node for node in network.nodes if name is None or name in node.readers]
    refused, _ = first_refusals(network, sorted(node.id for node in nodes if node.readers))
    return {"nodes": [{"id": node.id, "kind": "windows" if node.clock.sliced else "totals",
                       "dimensions": sorted(map(str, node.dimensions)), "parent": node.parent,
                       "statistics": sorted(map(str, node.statistics)), "windows": list(map(str, node.windows)),
                       "readers": list(node.readers)} for node in nodes],
            "not_shared": [{"node": refusal.node, "other": refusal.other, "reason": refusal.reason}
                           for refusal in refused]}


def queries(
    pattern: Annotated[str, typer.Argument(help="Names to show, with * and ?.")] = "*",
    stream: Annotated[str | None, typer.Option(help="Only queries on this stream.")] = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the registered queries."""
    with open_state(state) as engine:
        shown = [_query_json(engine, query.name) for query in engine.queries() if fnmatch(query.name, pattern)]
    shown = [query for query in shown if stream in (None, query["stream"])]
    if as_json:
        print_json(shown)
        return
    terminal = console()
    terminal.print(queries_table(shown, terminal.width))
    say(many(len(shown), "query", "queries"))


def _query_json(engine: Engine, name: str) -> dict[str, Any]:
    query = engine.registry.query(name)
    return {"name": name, "stream": query.row.stream, "status": engine.query(name).status,
            "window": str(query.needs.window) if query.needs.window.clock.sliced else None,
            "keep": query.row.definition.keep_text, "eager": query.eager, "from_batch": query.row.from_batch,
            "complete_from": _complete_from(query), "registered_at": query.row.created_at,
            "sql": query.row.sql}


def _complete_from(query: Registered) -> datetime | int | None:
    """The moment from which on its windows are whole, or the first tick that a query without windows counts."""
    from weft.segments.segment import EARLIEST

    moment = query.row.complete_from
    return moment if not query.needs.window.clock.sliced and moment != EARLIEST else from_micros(moment)


def metrics(
    name: Annotated[str | None, typer.Argument(help="A query; without one, every stream.",
                                               autocompletion=complete_query)] = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how far each stream has come, what was late, how much state is held, and how the last tick went."""
    with open_state(state) as engine:
        numbers = _query_metrics(engine, name) if name is not None else _engine_metrics(engine)
    if as_json:
        print_json(numbers)
    elif name is not None:
        console().print(text_table(["metric", name], [[key, number_text(value)] for key, value in numbers.items()]))
    else:
        console().print(metrics_table(numbers["streams"]))
        say(many(numbers["queries"], "query", "queries"))


def _query_metrics(engine: Engine, name: str) -> dict[str, Any]:
    return find_query(engine, name).metrics()


def _engine_metrics(engine: Engine) -> dict[str, Any]:
    """The engine's numbers with moments as moments, and the last ticks from the catalog's log."""
    metrics = engine.metrics()
    for stream, numbers in metrics["streams"].items():
        for key in ("watermark", "max_event_time"):
            numbers[key] = from_micros(numbers[key])
        for key in ("since", "until"):
            numbers["kept"][key] = from_micros(numbers["kept"][key])
        for key in ("since", "last_tick_at"):
            numbers[key] = None if numbers[key] is None else datetime.fromisoformat(numbers[key])
        with engine.catalog.read() as catalog:
            ticks = catalog.tick_log(stream)[-RECENT:]
        numbers["recent_ticks"] = [{"batch_id": tick.batch_id, **tick.detail, "watermark": from_micros(tick.watermark)}
                                   for tick in ticks]
    return metrics

