"""The rules of functions that are more than a call: forms of CASE and CAST, and calls whose constants are checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from weft.algebra.coercion import cast, castable, implicit, unify, wrong_type
from weft.algebra.expressions import Call, Case, Expression, Literal
from weft.algebra.growth import check_copies, check_growth
from weft.algebra.literals import NULL
from weft.algebra.patterns import (
    check_date_pattern,
    check_like,
    check_replacement,
    collapsed,
    constant_text,
    like_regex,
    truncation,
)
from weft.algebra.regexes import check_regex
from weft.algebra.signatures import Arguments, CallRule, comparison
from weft.algebra.types import BOOLEAN, DATE, INT, SMALLINT, STRING, TIMESTAMP, TINYINT, VOID, DataType

MAX_REPEAT = 1000


def choose(name: str, arguments: Arguments) -> Expression:
    """if(condition, then, otherwise) is CASE."""
    (then, otherwise), kind = unify(arguments[1:])
    return Case(((implicit(arguments[0], BOOLEAN), then),), otherwise, kind)


def null_if(name: str, arguments: Arguments) -> Expression:
    """nullif(a, b) is CASE WHEN a = b THEN NULL ELSE a END."""
    kind = arguments[0].type
    return Case(((comparison("=", arguments), Literal(None, kind)),), arguments[0], kind)


def choose_not_null(name: str, arguments: Arguments) -> Expression:
    """nvl2(a, b, c) is CASE WHEN a IS NULL THEN c ELSE b END."""
    (then, otherwise), kind = unify(arguments[1:])
    return Case(((Call("is_null", arguments[:1], BOOLEAN), otherwise),), then, kind)


def is_not_null(name: str, arguments: Arguments) -> Expression:
    return Call("not", (Call("is_null", arguments, BOOLEAN),), BOOLEAN)


def to(kind: DataType) -> CallRule:
    """int(x), to_date(x): a cast that looks like a function."""
    def rule(name: str, arguments: Arguments) -> Expression:
        if not castable(arguments[0].type, kind):
            raise wrong_type(f"a {arguments[0].type} cannot be cast to {kind}")
        return cast(arguments[0], kind)
    return rule


def to_moment(kind: DataType) -> CallRule:
    """to_date and to_timestamp: casts, from text and times only."""
    def rule(name: str, arguments: Arguments) -> Expression:
        if arguments[0].type not in (VOID, STRING, DATE, TIMESTAMP):
            raise wrong_type(f"{name} takes a string, a date or a timestamp, not a {arguments[0].type}")
        return cast(arguments[0], kind)
    return rule


def days(name: str, arguments: Arguments) -> Expression:
    """date_add and date_sub: a number of days that fits an int by its type."""
    count = arguments[1]
    if count.type not in (VOID, TINYINT, SMALLINT, INT):
        raise wrong_type(f"{name} takes a number of days of type int, not {count.type}")
    return Call(name, (implicit(arguments[0], DATE), cast(count, INT)), DATE)


def checked(rule: CallRule, check: Callable[[Arguments], None]) -> CallRule:
    """A rule that checks its constant arguments first, and how long its string can become."""
    def checked_rule(name: str, arguments: Arguments) -> Expression:
        check(arguments)
        built = rule(name, arguments)
        check_growth(built)
        return built
    return checked_rule


def count_is_small(arguments: Arguments) -> None:
    """repeat, lpad and rpad: a constant count, so that no row can ask for a gigabyte."""
    count = arguments[1]
    if not isinstance(count, Literal) or not isinstance(count.value, int) or not 0 <= count.value <= MAX_REPEAT:
        raise wrong_type(f"the count must be a constant from 0 to {MAX_REPEAT}")


def hash_width(arguments: Arguments) -> None:
    """sha2: of a string, with a width that Spark knows; with another it would answer NULL."""
    if arguments[0].type not in (STRING, VOID):
        raise wrong_type(f"sha2 takes a string, not a {arguments[0].type}")
    if not isinstance(arguments[1], Literal) or arguments[1].value not in (0, 224, 256, 384, 512):
        raise wrong_type("sha2 takes a constant 224, 256, 384 or 512")


def extract_group(arguments: Arguments) -> None:
    """regexp_extract: a valid pattern, and a constant group that the pattern has."""
    groups = check_regex(constant_text(arguments[1], "a pattern"))
    index = arguments[2] if len(arguments) > 2 else Literal(1, INT)
    if not isinstance(index, Literal) or not isinstance(index.value, int) or not 0 <= index.value <= groups:
        raise wrong_type(f"the group must be a constant from 0 to {groups}: the pattern has {groups} groups")


def replacement(arguments: Arguments) -> None:
    """regexp_replace: a valid pattern, and a replacement that names only groups which may be copied."""
    pattern = constant_text(arguments[1], "a pattern")
    groups = check_regex(pattern)
    written = constant_text(arguments[2], "a replacement")
    check_replacement(written, groups)
    check_copies(pattern, written)


def truncate(name: str, arguments: Arguments) -> Expression:
    """date_trunc(unit, timestamp) and trunc(date, unit): the unit in its canonical spelling."""
    dates = name == "trunc"
    unit, moment = (arguments[1], arguments[0]) if dates else arguments
    written = Literal(truncation(constant_text(unit, "the unit"), dates=dates), STRING)
    if dates:
        return Call(name, (implicit(moment, DATE), written), DATE)
    return Call(name, (written, implicit(moment, TIMESTAMP)), TIMESTAMP)


def constants(arguments: Arguments) -> None:
    """replace: constants to look for and to put in, so that nothing can grow with the data."""
    for argument in arguments[1:]:
        constant_text(argument, "what replace looks for and puts in its place")


def like(name: str, arguments: Arguments) -> Expression:
    """LIKE, as a regular expression where Spark's own way of matching the pattern could take forever."""
    pattern = constant_text(arguments[1], "a pattern")
    check_like(pattern)
    quick = like_regex(pattern)
    function, written = (name, collapsed(pattern)) if quick is None else ("rlike", quick)
    return Call(function, (implicit(arguments[0], STRING), Literal(written, STRING)), BOOLEAN)


def regex(arguments: Arguments) -> None:
    check_regex(constant_text(arguments[1], "a pattern"))


def date_pattern(arguments: Arguments) -> None:
    check_date_pattern(constant_text(arguments[1], "a date pattern"))


def no_check(arguments: Arguments) -> None:
    """No check of arguments, for functions that only lengthen strings."""


def case(branches: Iterable[tuple[Expression, Expression]], otherwise: Expression | None) -> Expression:
    """CASE with conditions that are truth values and branches of the same type."""
    pairs = tuple(branches)
    values, kind = unify([*(value for _, value in pairs), NULL if otherwise is None else otherwise])
    tests = tuple(implicit(test, BOOLEAN) for test, _ in pairs)
    return Case(tuple(zip(tests, values, strict=False)), values[-1], kind)
