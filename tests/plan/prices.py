"""Prices of a machine that is not this one, so that what plans are tested for does not hang on a calibration."""

from __future__ import annotations

from weft.plan.prices import Costs

PRICES = Costs(
    tick=0.014, job=0.21, read=1.5e-8, test=1.7e-8, group=3.9e-8, key=5.9e-9, measure=6.5e-9, out=2.1e-7, set=0.0,
    begin=0.03, take=0.0, carry=2e-7, fetch=0.0, load=2.5e-8, file=0.0, column=0.0, seek=1e-8, line=7e-4, term=0.0, part=0.0,
    branch=7e-4, put=5e-9, look=6e-9, compare=3e-9, hand=3e-8, merge=0.0, derive=2.5e-8, node=4e-4, store=5e-8,
    family=1.8e-2, visit=7.3e-8,
)
