"""A search as it was when its time was over: what it found, for whom, and whether it is worth going on with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import uuid4

from weft.optimize.search_process import Request, Subject, process
from weft.plan.facts import Facts
from weft.plan.placement import Placement
from weft.plan.prices import Costs
from weft.plan.search import Search, SearchResult
from weft.registry.registered import Registered

# How long a search computes at a time, in seconds, and how often it goes on where it was: a turn slows the ticks beside
# it down, so a search ends after some turns in a row of which none found a plan that saves this share of a tick.
SEARCH_SECONDS, MOST_TURNS = 1.0, 10
MOST_IDLE, LEAST_FOUND = 2, 0.01
# Facts that changed by this factor are a reason to search again; so are this share of the queries.
DRIFT = 2.0
CHANGED = 0.1


@dataclass(frozen=True)
class Searched:
    """A search that is done for now: its queries, facts, prices and result, and the price of the placements before it.

    search: its name, to go on with it. turns: how often that was done, and idle: how often in a row it found nothing.
    """

    queries: Mapping[str, Registered]
    facts: Facts
    costs: Costs
    result: SearchResult
    now: float
    search: str
    turns: int = 1
    idle: int = 0

    def holds_for(self, queries: Mapping[str, Registered], facts: Facts, costs: Costs) -> bool:
        """Whether a new search would know nothing else: the same prices, and nearly the same queries and facts."""
        few = len(queries.keys() ^ self.queries.keys()) <= CHANGED * len(queries)
        # What was guessed when it was planned, and is known now, is a reason too.
        guessed = facts.groups.keys() - self.facts.groups.keys()
        return few and not guessed and self.costs == costs and facts.drift(self.facts, facts.groups) < DRIFT

    def goes_on(self, queries: Mapping[str, Registered]) -> bool:
        """Whether more time may find more, for exactly the queries that it is about."""
        ended = self.result.finished or self.turns >= MOST_TURNS or self.idle >= MOST_IDLE
        if ended or queries.keys() != self.queries.keys():
            return False
        return all(query.row.is_registration_of(self.queries[name].row) for name, query in queries.items())


def search_for(queries: Mapping[str, Registered], facts: Facts, costs: Costs) -> Search:
    """A search that has not begun."""
    return Search({name: query.choice for name, query in queries.items()}, facts, costs)


def searched(
    queries: Mapping[str, Registered],
    facts: Facts,
    costs: Costs,
    now: Mapping[str, Placement],
    seconds: float = SEARCH_SECONDS,
) -> Searched:
    """Search from where queries are now."""
    search = uuid4().hex
    subject = Subject({name: query.choice for name, query in queries.items()}, facts, costs)
    answer = process.search(Request(search, now, seconds, subject))
    assert answer is not None
    return Searched(queries, facts, costs, answer.result, answer.now, search)


def searched_on(before: Searched, queries: Mapping[str, Registered], now: Mapping[str, Placement]) -> Searched:
    """Go on with a search, by the facts that it began with; anew where nobody knows of it any more."""
    answer = process.search(Request(before.search, now, SEARCH_SECONDS))
    turns = before.turns + 1
    if answer is None:
        return replace(searched(queries, before.facts, before.costs, now), turns=turns)
    found = answer.result.price <= (1 - LEAST_FOUND) * before.result.price
    idle = 0 if found else before.idle + 1
    return Searched(queries, before.facts, before.costs, answer.result, answer.now, before.search, turns, idle)
