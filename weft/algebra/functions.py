"""The functions and operators that a query may use: an allow-list, as data. What is not here is refused.

All of them are deterministic and read nothing but their arguments. The `portable` functions give
Spark's value in the engine that reads results, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from weft.algebra.coercion import wrong_type
from weft.algebra.expressions import Call, Cast, Expression, walk
from weft.algebra.rewrites import (
    checked,
    choose,
    choose_not_null,
    constants,
    count_is_small,
    date_pattern,
    days,
    extract_group,
    hash_width,
    is_not_null,
    like,
    no_check,
    null_if,
    regex,
    replacement,
    to,
    to_moment,
    truncate,
)
from weft.algebra.signatures import (
    Arguments,
    CallRule,
    anything,
    arithmetic,
    bits,
    common,
    common_without_strings,
    comparison,
    divide,
    exactly,
    fixed,
    membership,
    not_a_number,
    rounding,
    same_number,
    shift,
    whole,
    whole_division,
)
from weft.algebra.size import check_written, size
from weft.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    DataType,
    decimal,
)
from weft.errors import SqlError

MANY = 1000


@dataclass(frozen=True)
class Function:
    """A function or operator: its canonical name, other spellings, how many arguments, and what a call becomes."""

    name: str
    least: int
    most: int
    rule: CallRule
    aliases: tuple[str, ...] = ()

    @property
    def portable(self) -> bool:
        return self.name in PORTABLE

    def build(self, arguments: Arguments) -> Expression:
        """The call with its casts written out; refuses a wrong number or wrong types of arguments."""
        if not self.least <= len(arguments) <= self.most:
            most = "more" if self.most >= MANY else str(self.most)
            wanted = str(self.least) if self.least == self.most else f"{self.least} to {most}"
            plural = "" if wanted == "1" else "s"
            raise wrong_type(f"{self.name} takes {wanted} argument{plural}, not {len(arguments)}")
        check_written(sum(map(size, arguments)))  # rules look into their arguments, all of them at once
        return self.rule(self.name, arguments)


# What another engine computes exactly as Spark does over aggregate results (Case and some casts besides).
PORTABLE = frozenset({
    "and", "or", "not", "=", "<", "<=", "<=>", "is_null", "in", "+", "-", "*", "/", "%", "div", "negate", "abs",
    "round", "floor", "ceil", "sqrt", "exp", "ln", "log10", "log2", "pow", "sign", "greatest", "least", "coalesce",
    "nullif",
})


def is_portable(expression: Expression) -> bool:
    """Whether the engine that reads results may compute an expression; leaves always are."""
    return all(
        node.function in PORTABLE if isinstance(node, Call) else
        _portable_cast(node.operand.type, node.type) if isinstance(node, Cast) else True
        for node in walk(expression))


def _portable_cast(source: DataType, target: DataType) -> bool:
    if source == target:
        return True
    if target == STRING:
        return source.is_integral or source.is_decimal or source == BOOLEAN
    return (source.is_numeric or source == BOOLEAN) and (target.is_numeric or target == BOOLEAN)


def _unary(rule: CallRule, *names: str) -> Iterable[Function]:
    """Functions of a single argument that share a rule."""
    return (Function(name, 1, 1, rule) for name in names)


_TEXT = fixed(STRING, returns=STRING)
_PART = fixed(DATE, returns=INT)
_CLOCK = fixed(TIMESTAMP, returns=INT)
_REAL = fixed(DOUBLE, returns=DOUBLE)
_TRUTH = fixed(BOOLEAN, returns=BOOLEAN)
_WHOLE = ("bigint", "int", "smallint", "tinyint")

LOGIC = (
    Function("and", 2, MANY, _TRUTH),
    Function("or", 2, MANY, _TRUTH),
    Function("not", 1, 1, _TRUTH),
    Function("=", 2, 2, comparison),
    Function("<", 2, 2, comparison),
    Function("<=", 2, 2, comparison),
    Function("<=>", 2, 2, comparison, aliases=("equal_null",)),
    Function("is_null", 1, 1, anything(BOOLEAN), aliases=("isnull",)),
    Function("isnotnull", 1, 1, is_not_null),
    Function("in", 2, MANY + 1, membership),
    Function("like", 2, 2, like),
    Function("rlike", 2, 2, checked(fixed(STRING, returns=BOOLEAN), regex), aliases=("regexp", "regexp_like")),
    Function("if", 3, 3, choose, aliases=("iff",)),
    Function("nullif", 2, 2, null_if),
    Function("nvl2", 3, 3, choose_not_null),
    Function("coalesce", 1, MANY, common),
    Function("nvl", 2, 2, lambda _, arguments: common("coalesce", arguments), aliases=("ifnull",)),
    Function("greatest", 2, MANY, common_without_strings),
    Function("least", 2, MANY, common_without_strings),
)
NUMBERS = (
    Function("+", 2, 2, arithmetic),
    Function("-", 2, 2, arithmetic),
    Function("*", 2, 2, arithmetic),
    Function("/", 2, 2, divide),
    Function("%", 2, 2, arithmetic, aliases=("mod",)),
    Function("div", 2, 2, whole_division),
    Function("negate", 1, 1, same_number, aliases=("negative",)),
    Function("pmod", 2, 2, arithmetic),
    Function("try_add", 2, 2, arithmetic),
    Function("try_subtract", 2, 2, arithmetic),
    Function("try_multiply", 2, 2, arithmetic),
    Function("try_divide", 2, 2, divide),
    Function("abs", 1, 1, same_number),
    Function("ceil", 1, 1, whole, aliases=("ceiling",)),
    Function("floor", 1, 1, whole),
    Function("round", 1, 2, rounding),
    Function("sign", 1, 1, _REAL, aliases=("signum",)),
    Function("pow", 2, 2, _REAL, aliases=("power",)),
    Function("ln", 1, 1, _REAL, aliases=("log",)),
    *_unary(_REAL, "sqrt", "cbrt", "exp", "log10", "log2"),
    Function("isnan", 1, 1, not_a_number),
    Function("nanvl", 2, 2, not_a_number),
    Function("&", 2, 2, bits),
    Function("|", 2, 2, bits),
    Function("^", 2, 2, bits),
    Function("~", 1, 1, bits),
    Function("shiftleft", 2, 2, shift),
    Function("shiftright", 2, 2, shift),
    Function("hash", 1, MANY, anything(INT)),
    Function("xxhash64", 1, MANY, anything(BIGINT)),
)
STRINGS = (
    Function("upper", 1, 1, _TEXT, aliases=("ucase",)),
    Function("lower", 1, 1, _TEXT, aliases=("lcase",)),
    *_unary(_TEXT, "trim", "ltrim", "rtrim", "reverse", "initcap"),
    Function("ascii", 1, 1, fixed(STRING, returns=INT)),
    Function("length", 1, 1, fixed(STRING, returns=INT), aliases=("char_length", "character_length", "len")),
    Function("concat", 1, MANY, checked(_TEXT, no_check)),
    Function("concat_ws", 2, MANY, checked(_TEXT, no_check)),
    Function("substring", 2, 3, fixed(STRING, INT, returns=STRING), aliases=("substr",)),
    Function("left", 2, 2, fixed(STRING, INT, returns=STRING)),
    Function("right", 2, 2, fixed(STRING, INT, returns=STRING)),
    Function("replace", 3, 3, checked(_TEXT, constants)),
    Function("translate", 3, 3, _TEXT),
    Function("lpad", 2, 3, checked(fixed(STRING, INT, STRING, returns=STRING), count_is_small)),
    Function("rpad", 2, 3, checked(fixed(STRING, INT, STRING, returns=STRING), count_is_small)),
    Function("repeat", 2, 2, checked(fixed(STRING, INT, returns=STRING), count_is_small)),
    Function("instr", 2, 2, fixed(STRING, returns=INT)),
    Function("locate", 2, 3, fixed(STRING, STRING, INT, returns=INT), aliases=("position", "charindex")),
    Function("startswith", 2, 2, fixed(STRING, returns=BOOLEAN)),
    Function("endswith", 2, 2, fixed(STRING, returns=BOOLEAN)),
    Function("contains", 2, 2, fixed(STRING, returns=BOOLEAN)),
    Function("split_part", 3, 3, fixed(STRING, STRING, INT, returns=STRING)),
    Function("regexp_extract", 2, 3, checked(fixed(STRING, STRING, INT, returns=STRING), extract_group)),
    Function("regexp_replace", 3, 3, checked(_TEXT, replacement)),
    Function("md5", 1, 1, exactly("string", returns=STRING)),
    Function("sha1", 1, 1, exactly("string", returns=STRING), aliases=("sha",)),
    Function("sha2", 2, 2, checked(fixed(STRING, INT, returns=STRING), hash_width)),
    Function("crc32", 1, 1, exactly("string", returns=BIGINT)),
)
TIMES = (
    Function("day", 1, 1, _PART, aliases=("dayofmonth",)),
    *_unary(_PART, "year", "quarter", "month", "dayofweek", "dayofyear", "weekofyear"),
    *_unary(_CLOCK, "hour", "minute", "second"),
    # EXTRACT(SECOND FROM x), with the microseconds that second(x) leaves out.
    Function("extract_second", 1, 1, fixed(TIMESTAMP, returns=decimal(8, 6))),
    Function("last_day", 1, 1, fixed(DATE, returns=DATE)),
    Function("date_trunc", 2, 2, truncate),
    Function("trunc", 2, 2, truncate),
    Function("date_add", 2, 2, days, aliases=("dateadd",)),
    Function("date_sub", 2, 2, days),
    Function("datediff", 2, 2, fixed(DATE, returns=INT), aliases=("date_diff",)),
    Function("make_date", 3, 3, fixed(INT, returns=DATE)),
    Function("date_format", 2, 2, checked(fixed(TIMESTAMP, STRING, returns=STRING), date_pattern)),
    Function("unix_timestamp", 1, 1, exactly("timestamp", "date", returns=BIGINT)),
    *_unary(exactly("timestamp", returns=BIGINT), "unix_micros", "unix_millis", "unix_seconds"),
    Function("timestamp_seconds", 1, 1, exactly(*_WHOLE, "double", "float", "decimal", returns=TIMESTAMP)),
    *_unary(exactly(*_WHOLE, returns=TIMESTAMP), "timestamp_millis", "timestamp_micros"),
    Function("to_date", 1, 1, to_moment(DATE)),
    Function("to_timestamp", 1, 1, to_moment(TIMESTAMP)),
)
# int(x), string(x): casts that look like functions.
CASTS = tuple(Function(str(kind), 1, 1, to(kind)) for kind in
              (BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, DATE, TIMESTAMP))
ALL: tuple[Function, ...] = (*LOGIC, *NUMBERS, *STRINGS, *TIMES, *CASTS)

FUNCTIONS: Mapping[str, Function] = {name: function for function in ALL for name in (function.name, *function.aliases)}

NONDETERMINISTIC = frozenset("""
    rand randn random randstr uniform uuid shuffle now current_timestamp current_date current_time curdate
    localtimestamp current_timezone monotonically_increasing_id spark_partition_id input_file_name
    input_file_block_start input_file_block_length current_user user session_user current_catalog current_database
    current_schema version
""".split())
# These reach the JVM or run programs.
FORBIDDEN = frozenset({"java_method", "reflect", "try_reflect", "transform"})


# The canonical names of operators, which are no names of functions in SQL.
OPERATORS = frozenset({"and", "or", "not", "in", "div", "is_null", "negate", "extract_second"})


def function_named(name: str, others: Iterable[str] = ()) -> Function:
    """The function of a name in any case, or the refusal that fits."""
    word = name.lower()
    function = FUNCTIONS.get(word)
    if function is not None and word[0].isalpha() and word not in OPERATORS:
        return function
    if word in NONDETERMINISTIC:
        raise SqlError("nondeterministic-function", f"{word} gives another value each time it is asked",
                       hint="Use the stream's columns; a query must give the same result when it is computed again.")
    if word in FORBIDDEN:
        raise SqlError("forbidden-function", f"{word} is not allowed in a query",
                       hint="Queries reach nothing but their stream.")
    known = [name for name in FUNCTIONS if name[0].isalpha() and name not in OPERATORS]
    near = get_close_matches(word, [*known, *others], n=3)
    raise SqlError("unknown-function", f"there is no function {name[:60]!r}",
                   hint=f"Near names: {', '.join(near)}." if near else "docs/sql.md lists the functions.")
