"""Decimal arithmetic in Python: what no decimal holds is an overflow, whatever is done with it."""

from __future__ import annotations

import pytest

from weft.backend.functions import OVERFLOW, round_decimal


@pytest.mark.parametrize("value", ["1e+300", "-1e+300", "1.7976931348623157e+308", "1e+162", "1.0"])
def test_a_number_beyond_a_decimal_overflows(value: str) -> None:
    with pytest.raises(OverflowError, match=OVERFLOW):
        round_decimal(value, 38, 38, 38)


def test_a_number_of_hardly_anything_is_zero() -> None:
    assert float(round_decimal("5e-324", 38, 38, 38)) == 0
