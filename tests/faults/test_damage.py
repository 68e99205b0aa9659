"""T12: damaged files are found by their checksum: a clear error for who needs them, right answers for all others."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from tests.faults.scene import Scene, lived, ticks
from tests.few import few, few_combinations
from tests.simulation.world import EPOCH, Query, Window
from weft.algebra.windows import MICROSECOND
from weft.errors import StateError
from weft.segments.cache import RESULT_BYTES, Recent, TableCache
from weft.segments.files import LocalFiles
from weft.store import change, letters, tend

BEFORE = 10
KINDS = ("tick", "block", "late", "result", "dead")
CODES = ("segment-damaged", "segment-missing")
# Some tables of a few rows have more bytes than this, and some have fewer.
SMALL = 500
QUERIES = (
    Query("by_key", ("k",), ("n", "total"), Window(4, 2), "1 minute", eager=True),
    Query("by_group", ("g",), ("least", "most"), Window(20, 5), "forever", eager=True),
    Query("all", (), ("n",), Window(6, 3), "forever", eager=False),
    Query("totals", ("k",), ("total",), None, "forever", eager=False),
)
Read = Callable[[Scene], Any]


def flip(path: Path, _other: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def truncate(path: Path, _other: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def zero(path: Path, _other: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def swap(path: Path, other: Path) -> None:
    mine, others = path.read_bytes(), other.read_bytes()
    assert mine != others
    path.write_bytes(others)
    other.write_bytes(mine)


def delete(path: Path, _other: Path) -> None:
    path.unlink()


DAMAGES = (flip, truncate, zero, swap, delete)
Damage = Callable[[Path, Path], None]


def reads_of(query: Query) -> dict[str, Read]:
    """Everything that can be asked of a query."""
    name = query.name
    late: dict[str, Read] = {f"{name} late": lambda world: world.engine.query(name).metrics()["late_rows"]}
    if query.window is None:
        return late | {
            f"{name} result": lambda world: world.engine.query(name).result().to_pylist(),
            f"{name} changes": lambda world: world.engine.query(name).changes(since=5).to_pylist(),
        }
    window = query.window
    ends = [end for end in range(0, 2 * BEFORE, window.slide) if end > 2 * BEFORE - 8]
    return (
        late
        | {f"{name} results": lambda world: world.engine.query(name).results().to_pylist()}
        | {f"{name} at {end}": lambda world, end=end: one_window(world, name, end) for end in ends}
    )


def one_window(world: Scene, name: str, end: int) -> Any:
    moment = EPOCH.fromtimestamp(0, EPOCH.tzinfo) + end * 1_000_000 * MICROSECOND
    return world.engine.query(name).result(moment).to_pylist()


READS: dict[str, Read] = {
    **{name: read for query in QUERIES for name, read in reads_of(query).items()},
    "dead letters": lambda world: world.engine.dead_letters("s").to_pylist(),
}


def forget_tables(world: Scene) -> None:
    """The next read goes to the disk."""
    fresh = TableCache(world.engine.files)
    world.engine.cache._recent, world.engine.cache._parts = fresh._recent, fresh._parts
    world.engine.reader.results = Recent(RESULT_BYTES)


@contextmanager
def noted_reads() -> Iterator[set[str]]:
    """The paths that are read from the disk meanwhile."""
    noted: set[str] = set()

    def noting(usual: Callable[..., Any]) -> Callable[..., Any]:
        def read(self: LocalFiles, path: str, *rest: Any) -> Any:
            noted.add(path)
            return usual(self, path, *rest)

        return read

    table, part = noting(LocalFiles.read_table), noting(LocalFiles.read_bytes)
    with patch.object(LocalFiles, "read_table", table), patch.object(LocalFiles, "read_bytes", part):
        yield noted


@contextmanager
def a_file_each() -> Iterator[None]:
    """No two tables share a file, so that a file has a kind; of each kind some are Parquet and some are parts."""
    with patch.object(change, "FILE_BYTES", 0), patch.object(change, "SMALL_BYTES", SMALL):
        yield


class Whole:
    """An undamaged state: its right answers, which files each of them needs, and a copy of all files."""

    def __init__(self, folder: Path) -> None:
        with a_file_each():
            self.world = lived(folder / "whole", BEFORE, QUERIES)
        self.segments = folder / "whole" / "state" / "segments"
        self.backup = folder / "backup"
        shutil.copytree(self.segments, self.backup)
        self.answers: dict[str, Any] = {}
        self.needs: dict[str, set[str]] = {}
        for name, read in READS.items():
            forget_tables(self.world)
            with noted_reads() as noted:
                self.answers[name] = read(self.world)
            self.needs[name] = noted

    def kinds(self) -> dict[str, str]:
        """All files of the catalog, with their kinds."""
        with self.world.engine.catalog.read() as reader:
            segments = {row.path: row.kind for row in reader.segments()}
            return segments | {row.path: "dead" for row in reader.dead_letters()}

    def files(self, kind: str) -> list[str]:
        """The files of a kind that somebody needs; neighbours can be swapped."""
        needed = set().union(*self.needs.values())
        return sorted(path for path, one in self.kinds().items() if one == kind and path in needed)

    def restore(self) -> None:
        shutil.copytree(self.backup, self.segments, dirs_exist_ok=True)


@pytest.fixture(scope="module")
def whole(quick_folder: Path) -> Iterator[Whole]:
    made = Whole(quick_folder)
    yield made
    made.world.forget()


# In `make test` every damage to every kind of file, each to one of three files; in `make stress` to all three.
@pytest.mark.parametrize(("kind", "damage", "place"), few_combinations(KINDS, DAMAGES, range(3), every=3))
def test_damage_is_an_error_for_who_needs_the_file(whole: Whole, kind: str, damage: Damage, place: int) -> None:
    """75 damages: every read that needs the file fails with its code, and every other read is right."""
    files = whole.files(kind)
    first, second = files[place], files[place - 1]
    assert len({first, second}) == 2
    damage(whole.segments / first, whole.segments / second)
    spoilt = {first, second} if damage is swap else {first}
    failed = 0
    try:
        for name, read in READS.items():
            forget_tables(whole.world)
            if whole.needs[name] & spoilt:
                with pytest.raises(StateError) as failure:
                    read(whole.world)
                assert failure.value.code == CODES[damage is delete]
                failed += 1
            else:
                assert read(whole.world) == whole.answers[name], name
    finally:
        whole.restore()
    assert 0 < failed < len(READS)


@contextmanager
def merging_often() -> Iterator[None]:
    """Dead letters and finished windows are merged after a few ticks already."""
    with patch.object(letters, "FILES_KEPT", 6), patch.object(tend, "RESULT_FAN_OUT", 4), a_file_each():
        yield


def further(world: Scene, count: int) -> None:
    for _ in range(count):
        world.tick(*ticks(len(world.arrived), 1))


@pytest.fixture(scope="module")
def ticked(whole: Whole, quick_folder: Path) -> dict[str, str]:
    """For each kind a file that one of the next ticks reads, in an engine that has just been opened."""
    world = whole.world.copy(quick_folder / "ticked")
    kinds = whole.kinds()
    with noted_reads() as noted, merging_often():
        further(world, 6)
    world.forget()
    return {kinds[path]: path for path in sorted(noted) if path in kinds}


# In `make test` every kind of file and every damage, in `make stress` all damages to all kinds.
@pytest.mark.parametrize(("kind", "damage"), few_combinations(KINDS, (flip, truncate, zero, delete), every=4))
def test_a_tick_that_needs_a_damaged_file_stops_and_goes_on_after_it_is_restored(
    whole: Whole, ticked: dict[str, str], place: Path, kind: str, damage: Damage
) -> None:
    world = whole.world.copy(place)
    spoilt = place / "state" / "segments" / ticked[kind]
    good = spoilt.read_bytes()
    damage(spoilt, spoilt)
    with merging_often():
        with pytest.raises(StateError) as failure:
            further(world, 6)
        assert failure.value.code == CODES[damage is delete]
        assert ticked[kind] in failure.value.message
        spoilt.parent.mkdir(parents=True, exist_ok=True)
        spoilt.write_bytes(good)
        further(world, BEFORE + 6 - len(world.arrived))
    world.check()
    assert world.unknown_files() == set()
    world.forget()


PAGE = 4096


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]


def without_page(data: bytes, number: int) -> bytes:
    return data[: number * PAGE] + bytes(PAGE) + data[(number + 1) * PAGE :]


# What a bad disk, a full one or a careless copy make of the catalog's file.
SPOILT: dict[str, Callable[[bytes], bytes | None]] = {
    "gone": lambda data: None,
    "empty": lambda data: b"",
    "a hundred bytes": lambda data: data[:100],
    "one page": lambda data: data[:PAGE],
    "half": lambda data: data[: len(data) // 2],
    "without its last page": lambda data: data[:-PAGE],
    "all zeros": lambda data: bytes(len(data)),
    "another file": lambda data: b"PAR1" + data[4:],
    **{f"byte {at} flipped": lambda data, at=at: flipped(data, at) for at in (0, 15, 16, 18, 47)},
    **{f"page {number} zeroed": lambda data, number=number: without_page(data, number) for number in range(0, 31, 3)},
    **{f"page {number} of no kind": lambda data, number=number: flipped(data, number * PAGE) for number in (1, 5, 9)},
}


# A copy of the state for each takes a second: a third of them in `make test`, all in `make stress`.
@pytest.mark.parametrize("how", few(SPOILT, 9))
def test_a_damaged_catalog_is_refused_and_never_answers_wrongly(whole: Whole, place: Path, how: str) -> None:
    world = whole.world.copy(place)
    catalog = place / "state" / "catalog.sqlite"
    good = catalog.read_bytes()
    spoilt = SPOILT[how](good)
    catalog.unlink() if spoilt is None else catalog.write_bytes(spoilt)
    try:
        world.check()
        world.tick(*ticks(BEFORE, 1))
        world.check()
        raise AssertionError("nobody noticed")
    except StateError as error:
        assert error.code in ("catalog-unreadable", "catalog-lost"), error
        assert error.hint
    world.forget()
    for beside in place.glob("state/catalog.sqlite-*"):
        beside.unlink()
    catalog.write_bytes(good)
    world.check()
    world.forget()


def flip_and_look(whole: Whole, place: Path, seed: int) -> bool:
    """One bit of the catalog is another, anywhere: refused, or of no account. Whether it was refused."""
    random = Random(f"flip {seed}")
    world = whole.world.copy(place)
    catalog = place / "state" / "catalog.sqlite"
    data = bytearray(catalog.read_bytes())
    data[random.choice([at for at, byte in enumerate(data) if byte])] ^= 1 << random.randrange(8)
    catalog.write_bytes(data)
    try:
        world.check()
        return False
    except StateError as error:
        assert error.code in ("catalog-unreadable", "newer-format"), error
        return True
    finally:
        world.forget()


@pytest.mark.parametrize("bits", few((8, 25), 1))
def test_a_flipped_bit_in_the_catalog_is_never_read_as_data(
    whole: Whole, place: Path, bits: int, tell: Callable[[str], None]
) -> None:
    refused = sum(flip_and_look(whole, place / str(seed), seed) for seed in range(bits))
    tell(f"{refused} of {bits} flipped bits are refused")
    assert refused > bits * 2 // 5


@pytest.mark.parametrize(("before", "after"), [(b'"dead_letters"', b'"dead_lettess"'), (b'{"streams"', b'["streams"')])
def test_sums_that_are_damaged_themselves_are_refused(whole: Whole, place: Path, before: bytes, after: bytes) -> None:
    world = whole.world.copy(place)
    catalog = place / "state" / "catalog.sqlite"
    data = catalog.read_bytes()
    assert before in data
    catalog.write_bytes(data.replace(before, after))
    with pytest.raises(StateError) as caught:
        world.check()
    assert caught.value.code == "catalog-unreadable" and "meta" in str(caught.value)
    world.forget()


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_flipped_bits_in_the_catalog_are_never_read_as_data(whole: Whole, place: Path, part: int) -> None:
    first = 1000 + 50 * part
    assert sum(flip_and_look(whole, place / str(seed), seed) for seed in range(first, first + 50)) > 20


def test_a_checkpoint_that_goes_on_where_no_catalog_was_is_refused(place: Path) -> None:
    """With another catalog, or one that was lost, the batches before would be missing without a word."""
    world = Scene(place, Random(1), delay=2)
    world.register(*QUERIES)
    with pytest.raises(StateError) as failure:
        world.tick(*ticks(3, 1), 3)
    assert failure.value.code == "batches-missing"
    world.forget()
