"""The lattice of dimension sets: ARGUS's queries in both orders, its rules one by one, and what holds after anything."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from weft.plan import Lattice

# A: visits and average fee by hospital, day and disease category; B: average fee by hospital and day.
A = (("hospital", "day", "category"), ("count", "sum(fee)"))
B = (("hospital", "day"), ("count", "sum(fee)"))
SIZES = {A[0]: 95_000, B[0]: 10_000}


def lattice_of(*queries: tuple[str, str, str, int], stream: int = 300_000) -> Lattice:
    """Queries as (name, letters of dimensions, words of statistics, size)."""
    lattice = Lattice(stream_size=stream)
    for name, dimensions, statistics, size in queries:
        lattice.add(name, dimensions, statistics.split(), size=size)
    return lattice


def parent(lattice: Lattice, dimensions: str) -> str | None:
    above = lattice.nodes[frozenset(dimensions)].parent
    return None if above is None else "".join(sorted(above))


def test_a_then_b_expands_vertically() -> None:
    lattice = Lattice(stream_size=300_000)
    first = lattice.add("A", *A, size=SIZES[A[0]])
    second = lattice.add("B", *B, size=SIZES[B[0]])
    assert lattice.nodes[first.node].parent is None
    assert lattice.nodes[second.node].parent == first.node
    assert second.created and not second.rerouted
    # A has all that B needs, so nothing but B's own node gained anything
    assert set(second.gained) == {second.node}


def test_b_then_a_reroutes() -> None:
    lattice = Lattice(stream_size=300_000)
    second = lattice.add("B", *B, size=SIZES[B[0]])
    assert lattice.nodes[second.node].parent is None
    first = lattice.add("A", *A, size=SIZES[A[0]])
    assert first.rerouted == (second.node,)
    assert lattice.nodes[second.node].parent == first.node and lattice.nodes[first.node].parent is None


def test_both_orders_end_in_one_network() -> None:
    one, other = Lattice(stream_size=300_000), Lattice(stream_size=300_000)
    for lattice, order in ((one, "AB"), (other, "BA")):
        for name in order:
            query = A if name == "A" else B
            lattice.add(name, *query, size=SIZES[query[0]])
    assert one.nodes == other.nodes


def test_a_query_is_computed_from_the_smallest_node_that_can() -> None:
    lattice = lattice_of(("wide", "abcd", "n", 90_000), ("small", "abc", "n", 500), ("large", "abd", "n", 7_000))
    found = lattice.find("ab", ["n"])
    assert [(one.size, one.missing) for one in found] == [(500, set()), (7_000, set()), (90_000, set())]
    assert lattice.choose("ab", ["n"]) == found[0]
    lattice.add("new", "ab", ["n"], size=40)
    assert parent(lattice, "ab") == "abc"
    # what lacks a dimension cannot help, whatever its size
    assert lattice.find("e") == () and lattice.choose("e") is None


def test_a_node_that_is_no_smaller_than_the_stream_is_of_no_use() -> None:
    lattice = lattice_of(("wide", "abc", "n", 300_000), ("new", "ab", "n", 10))
    assert parent(lattice, "ab") is None and lattice.choose("ab") is None


def test_missing_statistics_are_added_all_the_way_up() -> None:
    lattice = lattice_of(("top", "abc", "n", 50_000), ("middle", "ab", "n", 5_000))
    change = lattice.add("bottom", "a", ["n", "max"], size=50)
    assert lattice.find("a", ["n", "max"])[0].dimensions == frozenset("a")
    assert parent(lattice, "a") == "ab" and parent(lattice, "ab") == "abc"
    assert change.gained == {frozenset("a"): {"n", "max"}, frozenset("ab"): {"max"}, frozenset("abc"): {"max"}}


def test_a_query_with_the_same_dimensions_reads_the_same_node() -> None:
    lattice = lattice_of(("one", "ab", "n", 100))
    change = lattice.add("two", "ba", ["n", "min"], size=999)
    assert not change.created and len(lattice.nodes) == 1
    node = lattice.nodes[frozenset("ab")]
    assert node.readers == {"one", "two"} and node.size == 100
    assert change.gained == {frozenset("ab"): {"min"}}


def test_no_rerouting_to_a_node_that_lacks_a_statistic_or_is_larger() -> None:
    lacks = lattice_of(("coarse", "a", "n max", 10), ("fine", "ab", "n", 100))
    assert parent(lacks, "a") is None
    larger = lattice_of(("first", "abc", "n", 100), ("coarse", "a", "n", 10), ("second", "abd", "n", 5_000))
    assert parent(larger, "a") == "abc"
    smaller = lattice_of(("first", "abc", "n", 5_000), ("coarse", "a", "n", 10), ("second", "abd", "n", 100))
    assert parent(smaller, "a") == "abd"


def test_what_is_computed_from_a_rerouted_node_stays_there() -> None:
    """ab is computed from abcd, and a from ab, which is larger than the new abc: only ab moves."""
    lattice = lattice_of(("top", "abcd", "n", 90_000), ("ab", "ab", "n", 9_000), ("a", "a", "n", 10))
    assert (parent(lattice, "ab"), parent(lattice, "a")) == ("abcd", "ab")
    change = lattice.add("new", "abc", ["n"], size=8_000)
    assert change.rerouted == (frozenset("ab"),) and change.pruned == (frozenset("a"),)
    assert (parent(lattice, "ab"), parent(lattice, "a")) == ("abc", "ab")


def test_without_the_pruning_the_same_node_would_have_moved() -> None:
    """a is computed from axy, which has nothing to do with abc: nothing is rerouted above it, so it moves."""
    lattice = lattice_of(("other", "axy", "n", 9_000), ("a", "a", "n", 10))
    assert lattice.add("new", "abc", ["n"], size=8_000).rerouted == (frozenset("a"),)


def test_holistic_statistics_come_from_the_stream_and_are_shared_by_equal_dimensions() -> None:
    lattice = lattice_of(("fine", "abc", "n", 5_000))
    lattice.add("median", "ab", ["n"], size=100, holistic=["median(x)"])
    assert parent(lattice, "ab") is None
    assert "median(x)" not in lattice.statistics("abc")
    assert not lattice.add("again", "ab", [], size=100, holistic=["median(x)"]).gained
    # others may be computed from the rest of it
    lattice.add("coarse", "a", ["n"], size=5)
    assert parent(lattice, "a") == "ab"
    # and it is not rerouted, but for when nobody asks for the median any more
    lattice.add("finer", "abd", ["n"], size=200)
    assert parent(lattice, "ab") is None
    lattice.remove("median")
    lattice.add("plain", "ab", ["n"], size=100)
    lattice.remove("again")
    assert parent(lattice, "ab") == "abd"
    assert lattice.statistics("ab") == {"n"}


def test_a_node_stays_as_long_as_somebody_needs_it() -> None:
    lattice = lattice_of(("fine", "abc", "n max", 5_000), ("coarse", "a", "n", 10))
    assert lattice.remove("fine").removed == ()
    assert parent(lattice, "a") == "abc" and lattice.statistics("abc") == {"n"}
    assert lattice.remove("coarse").removed == (frozenset("a"), frozenset("abc"))
    assert not lattice.nodes
    with pytest.raises(KeyError):
        lattice.remove("coarse")


def test_measured_sizes_move_nodes() -> None:
    lattice = lattice_of(("one", "abc", "n", 1_000), ("two", "abd", "n", 2_000), ("coarse", "a", "n", 10))
    assert parent(lattice, "a") == "abc"
    assert lattice.resize("abc", 50_000).rerouted == (frozenset("a"),)
    assert parent(lattice, "a") == "abd"
    assert lattice.resize("abc", 100).rerouted == (frozenset("a"),)
    assert parent(lattice, "a") == "abc"


def test_a_name_is_taken_once() -> None:
    lattice = lattice_of(("one", "a", "n", 1))
    with pytest.raises(ValueError, match="already"):
        lattice.add("one", "b", ["n"], size=1)


class Registering(RuleBasedStateMachine):
    """Queries come and go and sizes change, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.lattice = Lattice(stream_size=1_000)
        self.number = 0

    @rule(
        dimensions=st.sets(st.sampled_from("abcd")),
        statistics=st.sets(st.sampled_from(["n", "sum", "max"]), min_size=1),
        size=st.integers(1, 1_200),
        holistic=st.sampled_from([(), (), (), ("median",)]),
    )
    def add(self, dimensions: set[str], statistics: set[str], size: int, holistic: tuple[str, ...]) -> None:
        self.number += 1
        known = frozenset(dimensions) in self.lattice.nodes
        change = self.lattice.add(str(self.number), dimensions, statistics, size=size, holistic=holistic)
        assert change.created != known
        assert not set(change.rerouted) & set(change.pruned)

    @precondition(lambda self: self.lattice.asked)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        self.lattice.remove(data.draw(st.sampled_from(sorted(self.lattice.asked))))

    @precondition(lambda self: self.lattice.nodes)
    @rule(data=st.data(), size=st.integers(1, 1_200))
    def resize(self, data: st.DataObject, size: int) -> None:
        self.lattice.resize(data.draw(st.sampled_from(sorted(self.lattice.nodes, key=sorted))), size)

    @invariant()
    def every_node_can_be_computed(self) -> None:
        lattice = self.lattice
        for dimensions, node in lattice.nodes.items():
            children = [one for one in lattice.nodes.values() if one.parent == dimensions]
            assert node.readers or children
            needed = {one for name in node.readers for one in lattice.asked[name].statistics}
            needed |= {one for name in node.readers for one in lattice.asked[name].holistic}
            needed |= {one for child in children for one in lattice.statistics(child.dimensions)}
            assert lattice.statistics(dimensions) == needed
            if node.parent is not None:
                assert dimensions < node.parent and not any(lattice.asked[name].holistic for name in node.readers)

    @invariant()
    def every_query_has_its_node(self) -> None:
        for name, asked in self.lattice.asked.items():
            assert name in self.lattice.nodes[asked.dimensions].readers
            assert asked.statistics | asked.holistic <= self.lattice.statistics(asked.dimensions)


TestRegistering = Registering.TestCase
TestRegistering.settings = settings(max_examples=60, stateful_step_count=20)
