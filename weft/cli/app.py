"""The command `weft`: its subcommands, and how all of them fail.

Exit status 0: done. 1: the user can mend it (a WeftError, a wrong argument, what Spark says of a source); printed as
code, message and hint. 2: our fault, printed with its traceback. 130: interrupted.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from weft.cli import ask, calibrate, change, demo, inspect, results, run
from weft.errors import ConfigError, WeftError
from weft.terminal.exits import USERS_FAULT, WEFTS_FAULT, OurFault


class _Group(TyperGroup):
    """Every error of every command comes by here."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **named: Any) -> Any:
        arguments = sys.argv[1:] if args is None else list(args)
        try:
            return super().main(arguments, *rest, **named)
        except WeftError as error:
            fail(error, as_json="--json" in arguments)
        except SystemExit as end:
            # The parser of arguments says 2 for a wrong argument, which here means a fault of ours.
            sys.exit(USERS_FAULT if end.code == WEFTS_FAULT else end.code)
        except OurFault as fault:
            print(f"weft: {fault}", file=sys.stderr)
            sys.exit(WEFTS_FAULT)
        except Exception as error:  # noqa: BLE001 - nothing else stands between this and the user
            refused = _from_spark(error)
            if refused is not None:
                fail(refused, as_json="--json" in arguments)
            traceback.print_exc()
            print("weft: this is a fault in Weft, not in what you did; please report it with the lines above.",
                  file=sys.stderr)
            sys.exit(WEFTS_FAULT)


def fail(error: WeftError, *, as_json: bool = False) -> NoReturn:
    """Say what the user can mend, and leave with the status for that."""
    if as_json:
        print(json.dumps({"error": error_json(error)}), file=sys.stderr)
    else:
        print(f"{error}" + "".join(f"\n  {note}" for note in getattr(error, "__notes__", ())), file=sys.stderr)
    sys.exit(USERS_FAULT)


def error_json(error: WeftError) -> dict[str, Any]:
    """The shape of an error for scripts, the same in every command."""
    shape: dict[str, Any] = {"code": error.code, "message": error.message, "hint": error.hint}
    if error.position is not None:
        shape["position"] = {"line": error.position.line, "column": error.position.column}
    if isinstance(error, ConfigError):
        shape["problems"] = [inspect.problem_json(problem) for problem in error.problems]
    return shape


def _from_spark(error: BaseException) -> WeftError | None:
    """What Spark refuses before the first row: a path that is not there, an unknown source, a wrong option.

    Its errors carry a condition in brackets where they are about what was asked for; others are None here.
    """
    if not type(error).__module__.startswith(("pyspark.errors", "py4j.protocol")):
        return None
    from weft.spark.failure import CONDITION, reason_of

    if not CONDITION.search(str(error)):
        return None
    return WeftError("spark-refused", f"Spark refuses: {reason_of(error)}",
                     hint="Check the stream's source, path and options, and the settings under [spark].")


app = typer.Typer(name="weft", cls=_Group, no_args_is_help=True, rich_markup_mode="rich",
                  pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]},
                  help="Thousands of continuous SQL queries over a few streams, for little more than the price of one.",
                  epilog="Start with [bold]weft demo[/bold], or with one of the examples: "
                         "[bold]weft run examples/payments/weft.toml --available-now[/bold].")

app.command("run", epilog=run.EXAMPLES)(run.run)
app.command("check", epilog=inspect.CHECK_EXAMPLES)(inspect.check)
app.command("explain", epilog=inspect.EXPLAIN_EXAMPLES)(inspect.explain)
app.command("queries", epilog=inspect.QUERIES_EXAMPLES)(inspect.queries)
app.command("results", epilog=results.EXAMPLES)(results.results)
app.command("ask", epilog=ask.EXAMPLES)(ask.ask)
app.command("register", epilog=change.REGISTER_EXAMPLES)(change.register)
app.command("drop", epilog=change.DROP_EXAMPLES)(change.drop)
app.command("adopt", epilog=change.ADOPT_EXAMPLES)(change.adopt)
app.command("metrics", epilog=inspect.METRICS_EXAMPLES)(inspect.metrics)
app.command("calibrate", epilog=calibrate.EXAMPLES)(calibrate.calibrate)
app.command("demo", epilog=demo.EXAMPLES)(demo.demo)


def _version(show: bool) -> None:
    if show:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"weft {version('weft')}")
        except PackageNotFoundError:
            print("weft from a folder of its source")
        raise typer.Exit


@app.callback()
def _weft(show_version: bool = typer.Option(False, "--version", callback=_version, is_eager=True,
                                            help="Print the version and leave.")) -> None:
    pass


def main() -> None:
    """Run the command line; what the console script calls."""
    # A reader that closes its end early, like `head`, is no error.
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    app(prog_name="weft")
