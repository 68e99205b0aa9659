"""The handle of a registered query: results whenever somebody asks, whether the stream runs or rests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, TypeVar

import pyarrow as pa

from weft.errors import EngineError, StateError, WeftError
from weft.plan.bound import Bound, bound_of
from weft.plan.explain import explain_query
from weft.read.answers import Answers, complete_since
from weft.read.latest import latest
from weft.read.moments import Moment, datetime_of, tick_of
from weft.read.progress import counted_rows, late_rows, progress

if TYPE_CHECKING:
    from pandas import DataFrame as PandasFrame
    from pyspark.sql import DataFrame as SparkFrame
    from pyspark.sql import SparkSession

    from weft.plan.bill import Bill
    from weft.plan.network import Network
    from weft.read.ask import Asker
    from weft.read.state_reader import StateReader
    from weft.registry.registered import Registered
    from weft.registry.registry import Registry

Answer = TypeVar("Answer")


class Host(Protocol):
    """What a handle asks of the engine that it is of."""

    @property
    def registry(self) -> Registry:
        """What is registered."""

    @property
    def state_reader(self) -> StateReader:
        """What queries answer now."""

    @property
    def asker(self) -> Asker:
        """What answers queries over any span."""

    @property
    def spark(self) -> SparkSession:
        """The Spark session."""

    @property
    def filled_share(self) -> Callable[[str], float | None]:
        """Tells the share that is done of what is being filled for queries of a stream in this process."""

    def network(self, stream: str) -> Network:
        """The network that the stream's queries ask for."""

    def bill(self, stream: str) -> Bill | None:
        """What each node of a stream costs a tick."""


class ContinuousQuery:
    """A registered query. Every read is the exact answer for a prefix of the stream: the ticks committed so far."""

    def __init__(self, engine: Host, name: str) -> None:
        self._engine = engine
        self.name = name

    def __repr__(self) -> str:
        return f"ContinuousQuery({self.name!r})"

    @property
    def sql(self) -> str:
        return self._registered.row.sql

    @property
    def status(self) -> str:
        """'registered' until its first tick, 'running' after, 'failed' once an expression of it failed on a row.

        'filling' while rows that were kept before its first tick are counted for it, with how far that is where it is
        done in this process: 'filling 40 %'.
        """
        registered = self._registered
        row = registered.row
        if row.from_batch is None or row.status not in ("registered", "running"):
            return row.status
        if not registered.filling:
            return "running"
        share = self._engine.filled_share(row.stream)
        return "filling" if share is None else f"filling {share:.0%}".replace("%", " %")

    @property
    def complete_from(self) -> datetime | int | None:
        """The moment from which on its windows are held in full; None while there is none, the year 1 for always.

        A query that is registered late has every window that starts then or later. A query without a window counts all
        rows from a tick on, if not all rows that ever came: then this is the number of the tick.
        """
        answers = self._engine.state_reader.answers(self.name)
        return complete_since(answers.query, answers.state)

    def result(self, end: Moment | None = None, *, begin: Moment | None = None) -> pa.Table:
        """The newest closed window, or the window that ended at `end`; of a query without a window, the totals.

        With `begin` too, the query over that span of event time, whether a window of it or not: rows that have arrived,
        late rows if they came before its end. It is refused where neither groups nor rows are kept that say it.
        """
        if begin is not None and end is not None:
            held = self._read(lambda answers: answers.selected_over(begin, end))
            if held is not None:
                return held
        if begin is not None:
            return self._engine.asker.over(self._readable(failed=False).query, begin, end)

        def read(answers: Answers) -> pa.Table:
            span = answers.in_kept_rows(end) if answers.is_asked else None
            if span is not None:
                # Rows that only Spark can select are not searched when somebody asks.
                with suppress(EngineError):
                    return self._engine.asker.over(answers.query, *map(datetime_of, span))
            return answers.newest() if end is None else answers.ending_at(end)

        return self._read(read)

    def results(self, since: Moment | None = None, until: Moment | None = None) -> pa.Table:
        """All closed windows that are still kept and end after `since` and not after `until`, oldest first.

        Refused where they are more than one call should take; see results_in_parts().
        """

        def read(answers: Answers) -> pa.Table:
            if answers.is_asked:
                return answers.between(since, until)
            ends = answers.ends(since, until)
            answers.check_few(ends)
            return answers.windows(ends)

        return self._read(read)

    def results_in_parts(self, since: Moment | None = None, until: Moment | None = None) -> Iterator[pa.Table]:
        """What results() gives, in parts that are read in turn, however many windows there are.

        Windows that close while the parts are read are not among them.
        """
        if self._read(lambda answers: answers.is_asked):
            for span in self._read(lambda answers: answers.spans(since, until)):
                yield self.results(*span)
            return
        ends, most = self._read(lambda answers: (answers.ends(since, until), answers.most_at_once))
        for first in range(0, len(ends), most):
            part = ends[first : first + most]
            # A microsecond before its first end: no other window ends there.
            yield self.results(since=datetime_of(part[0] - 1), until=datetime_of(part[-1]))

    def latest(self) -> pa.Table:
        """The newest closed window that has rows, of the windows that are kept; empty where none has any.

        Of a query without a window: its totals, as result() gives them.
        """
        return self._read(latest)

    def changes(self, since: SupportsIndex = -1) -> pa.Table:
        """Of a query without a window: the groups that changed in ticks after `since`, with their totals now.

        The first column, `tick`, is the last tick that changed the group; give the greatest number seen as the next
        since.
        Where the query has a column `tick` of its own, that keeps its name, and the first column is `weft_tick`.
        """
        return self._read(lambda answers: answers.changes(tick_of(since)))

    def to_pandas(self) -> PandasFrame:
        """result() as a pandas DataFrame."""
        return self.result().to_pandas()

    def dataframe(self) -> SparkFrame:
        """result() as a Spark DataFrame."""
        return self._engine.spark.createDataFrame(self.result())

    def drop(self) -> None:
        """Stop and forget the query; no other query notices."""
        self._engine.registry.drop(self.name)

    def explain(self) -> str:
        """What the query reads, shares and holds, as text."""
        registered = self._registered
        stream = registered.row.stream
        network, bill = self._engine.network(stream), self._engine.bill(stream)
        own_bill = bill if bill is not None and self.name in bill.users[""] else None
        return explain_query(self.name, registered.needs, network, self.complete_from, self.bound, own_bill)

    @property
    def bound(self) -> Bound:
        """How much state the query can need: slices times groups, as far as these can be counted."""
        registered = self._registered
        feed = self._engine.registry.feed(registered.query.block.feed)
        return bound_of(registered.needs, registered.keep, feed.delay)

    def metrics(self) -> dict[str, Any]:
        """Its state in numbers."""
        return self._read(self._metrics, failed=True)

    def _metrics(self, answers: Answers) -> dict[str, Any]:
        row = answers.query.row
        return {
            "status": self.status,
            "error": row.status_detail,
            "from_batch": row.from_batch,
            "complete_from": complete_since(answers.query, answers.state),
            "bound": str(self.bound),
            "rows": counted_rows(answers),
            "late_rows": late_rows(answers),
            **progress(answers),
        }

    @property
    def _registered(self) -> Registered:
        return self._engine.state_reader.registered(self.name)

    def _read(self, answer: Callable[[Answers], Answer], *, failed: bool = False) -> Answer:
        """An answer from the newest state; from the state after it where its files went before they were read.

        They stay for a lease. Whoever takes longer, or has a clock that jumps, is answered from what they became.
        Of a query that failed nothing is read, unless `failed` says so: nothing that is stored answers it any more.
        """
        answers = self._readable(failed)
        try:
            return answer(answers)
        except StateError as error:
            newer = self._readable(failed)
            if error.code != "segment-missing" or newer.state is answers.state:
                raise
            return answer(newer)

    def _readable(self, failed: bool) -> Answers:
        answers = self._engine.state_reader.answers(self.name)
        if answers.query.failed and not failed:
            raise EngineError(
                "query-failed",
                f"query {self.name!r} stopped: {answers.query.row.status_detail}",
                hint="Drop it and register it again with the expression guarded, for example by try_cast or nullif.",
            )
        return answers


def metrics_or_error(query: ContinuousQuery) -> dict[str, Any]:
    """The metrics of a query; of a query that has none to tell, why, so that the others are told all the same."""
    try:
        return query.metrics()
    except WeftError as error:
        return {"error": str(error)}
