"""What is left of an error of Spark: one short line that can be stored and shown, whatever the row held."""

from __future__ import annotations

import time

import pytest

from weft.spark.failure import REASON_KEPT, WHOLE_KEPT, on_row, reason_of

CAST = (
    "[CAST_INVALID_INPUT] The value '{}' of the type \"STRING\" cannot be cast to \"INT\" because it is malformed. "
    "Correct the value as per the syntax, or change its target type. Use `try_cast` to tolerate malformed input and "
    "return NULL instead. SQLSTATE: 22018\n== SQL (line 1, position 12) ==\nmax(cast(w as int))\n    ^^^^^\n"
)
MALFORMED = "' of the type \"STRING\" cannot be cast to \"INT\" because it is malformed."

# What Spark 4.3 says, and what is left of it.
SAID = {
    "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead. If "
    'necessary set "spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22012\n== SQL (line 1) ==\nx':
        "[DIVIDE_BY_ZERO] Division by zero.",
    "[ARITHMETIC_OVERFLOW] overflow. Use 'try_multiply' to tolerate overflow and return NULL instead. If necessary set "
    '"spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22003': "[ARITHMETIC_OVERFLOW] overflow.",
    '[CAST_OVERFLOW] The value 300 of the type "INT" cannot be cast to "TINYINT" due to an overflow. Use `try_cast` to '
    "tolerate overflow and return NULL instead. SQLSTATE: 22003":
        '[CAST_OVERFLOW] The value 300 of the type "INT" cannot be cast to "TINYINT" due to an overflow.',
    "[DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION] Invalid value for MonthOfYear (valid values 1 - 12): 0.  "
    "SQLSTATE: 22023":
        "[DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION] Invalid value for MonthOfYear (valid values 1 - 12): 0.",
    CAST.format("12x"): "[CAST_INVALID_INPUT] The value '12x" + MALFORMED,
    CAST.format("a\nb [A_FAKE] c"): "[CAST_INVALID_INPUT] The value 'a\\nb [A_FAKE] c" + MALFORMED,
    CAST.format("a\x00b\ud800\u2028"): "[CAST_INVALID_INPUT] The value 'a\\x00b\\ud800\\u2028" + MALFORMED,
    "[STREAM_FAILED] Query terminated with exception: [FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user "
    "provided function. Reason: [DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012 SQLSTATE: 39000":
        "[DIVIDE_BY_ZERO] Division by zero.",
    "An error occurred while calling o5.sql.\n: java.lang.Error: out\tof luck\n\tat x": "java.lang.Error: out\\tof luck",
}


@pytest.mark.parametrize("said", SAID)
def test_what_happened_is_left_and_no_advice(said: str) -> None:
    assert reason_of(ValueError(said)) == SAID[said]


def test_a_value_of_ten_megabytes_is_cut_in_its_middle() -> None:
    before = time.monotonic()
    reason = reason_of(ValueError(CAST.format("12x" + "\x00" * 10_000_000)))
    assert time.monotonic() - before < 2
    assert len(reason) <= REASON_KEPT
    assert reason.startswith("[CAST_INVALID_INPUT] The value '12x\\x00\\x00") and reason.endswith(MALFORMED)


def test_a_row_is_told_as_far_as_there_is_room() -> None:
    reason = reason_of(ValueError(CAST.format("a" * 1000)))
    told = on_row(reason, {f"column_{number}": "b\n" * 1000 for number in range(10)})
    assert len(told) <= WHOLE_KEPT + len(", ...") and told.isprintable()
    assert "on a row with column_0 = b\\nb\\n" in told and told.endswith(", ...")
    assert on_row(reason, {}) == reason
