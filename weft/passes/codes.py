"""Codes: the place of each value of an operand among the constants that predicates compare it with.

Of the constants 3 and 7, NULL has code 0, what is below 3 has 1, 3 has 2, what is between them 3, 7 has 4, what is
above 5. So every comparison with a constant is a span of codes, and all types are compared as whole numbers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from weft.plan.ranges import Position, Span, Value

# An array of NumPy's.
Numbers: TypeAlias = Any
NULL_CODE = 0
# Whole numbers whose constants lie so close together are looked up in a table of all values between them.
WIDEST_TABLE = 1 << 16


@dataclass(frozen=True)
class Operand:
    """What predicates compare: a column of the rows, or SQL over these, and the constants in their order."""

    value: str
    constants: tuple[Value, ...]

    @property
    def kinds(self) -> int:
        """How many codes there are."""
        return 2 * len(self.constants) + 2


def span_codes(span: Span, places: Mapping[Value, int]) -> tuple[int, int]:
    """The first and the last code of a span.

    >>> span_codes(((3, True), (7, True)), {3: 0, 7: 1}), span_codes((None, None), {3: 0, 7: 1})
    ((3, 4), (1, 5))
    """
    start, end = span
    first = 1 if start is None else _code_from(start, places)
    return first, 2 * len(places) + 1 if end is None else _code_from(end, places) - 1


def _code_from(position: Position, places: Mapping[Value, int]) -> int:
    """The code of the values that come next after a position."""
    constant, after = position
    return 2 * places[constant] + 2 + after


def codes_of(values: pa.ChunkedArray, constants: Sequence[Value]) -> Numbers:
    """The code of each value, in as few bytes as it takes.

    >>> codes_of(pa.chunked_array([[None, 1, 3, 5, 7, 9]]), (3, 7)).tolist()
    [0, 1, 2, 3, 4, 5]
    """
    codes = _codes_of(pa.concat_arrays(values.chunks) if values.num_chunks != 1 else values.chunk(0), constants)
    return codes.astype(np.min_scalar_type(2 * len(constants) + 1))


def _codes_of(values: pa.Array, constants: Sequence[Value]) -> Numbers:
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return _codes_of_texts(values, constants)
    known = values.is_valid().to_numpy(zero_copy_only=False) if values.null_count else None
    codes = _codes_of_numbers(_numbers(values), constants)
    return codes if known is None else np.where(known, codes, NULL_CODE)


def _numbers(values: pa.Array) -> Numbers:
    """Values as numbers in their order; what stands for NULL may be any."""
    kind = values.type
    if pa.types.is_decimal(kind):
        # Decimals of 18 digits are small enough for the lower half of their 128 bits.
        halves = np.frombuffer(values.cast(pa.decimal128(kind.precision, kind.scale)).buffers()[1], np.int64)
        return halves[2 * values.offset : 2 * (values.offset + len(values)) : 2]
    if pa.types.is_timestamp(kind):
        values = values.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
    elif pa.types.is_date(kind):
        values = values.cast(pa.int32())
    elif pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    return (values.fill_null(0) if values.null_count else values).to_numpy()


def _codes_of_numbers(values: Numbers, constants: Sequence[Value]) -> Numbers:
    if not constants:
        return np.ones(len(values), np.int64)
    whole = values.dtype.kind == "i"
    points = np.array(constants, np.int64 if whole else np.float64)
    least, most = int(points[0]) - 1 if whole else 0, int(points[-1]) + 1 if whole else 0
    if whole and most - least <= min(WIDEST_TABLE, len(values)) and -(2**63) < least and most < 2**63:
        table = _halved(np.arange(least, most + 1), points)
        return table[np.clip(values, least, most).astype(np.int64) - least]
    return _halved(values, points)


def _halved(values: Numbers, points: Numbers) -> Numbers:
    """The codes of numbers by halving. NaN is above all constants, as it is for Spark."""
    place = np.searchsorted(points, values)
    return 2 * place + 1 + (points[np.minimum(place, len(points) - 1)] == values)


def _codes_of_texts(values: pa.Array, constants: Sequence[Value]) -> Numbers:
    """The codes of texts, of which each is looked at once: texts of Python are in the order of their UTF-8 bytes."""
    encoded = values.dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    places = np.fromiter(map(bisect_left, repeat(constants), texts), np.int64, len(texts))
    equal = np.fromiter(map(frozenset(constants).__contains__, texts), bool, len(texts))
    codes = np.append(2 * places + 1 + equal, NULL_CODE)
    return codes[encoded.indices.fill_null(len(texts)).to_numpy()]
