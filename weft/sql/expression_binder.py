"""Bind a parsed expression to a typed tree of our own; whatever has no rule here is refused.

Every part of a parsed node must be read by its rule: a flag that the parser set and we did not look at could change
the meaning, so an unknown flag is refused as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from weft.algebra.coercion import cast, castable, implicit, wrong_type
from weft.algebra.expressions import Aggregate, Call, Expression, Literal, WindowPart, walk
from weft.algebra.functions import FUNCTIONS, function_named
from weft.algebra.literals import FALSE, NULL, TRUE, fits, is_whole, number
from weft.algebra.rewrites import case
from weft.algebra.schema import AggregateTypes
from weft.algebra.size import check_written, size
from weft.algebra.types import BOOLEAN, DOUBLE, STRING, DataType
from weft.errors import SqlError
from weft.sql.aggregate_call import bind_aggregate
from weft.sql.ddl import type_named
from weft.sql.guard import position_of
from weft.sql.scope import Scope

BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "div", exp.EQ: "=",
    exp.NullSafeEQ: "<=>", exp.LT: "<", exp.LTE: "<=", exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "^",
    exp.RegexpLike: "rlike", exp.BitwiseLeftShift: "shiftleft", exp.BitwiseRightShift: "shiftright",
    exp.DPipe: "concat",
}
FLIPPED: dict[type[exp.Expr], str] = {exp.GT: "<", exp.GTE: "<="}
NEGATED: dict[type[exp.Expr], str] = {exp.NEQ: "=", exp.NullSafeNEQ: "<=>"}
UNARY: dict[type[exp.Expr], str] = {exp.Not: "not", exp.Neg: "negate", exp.BitwiseNot: "~"}
FIELDS = {"YEAR": "year", "QUARTER": "quarter", "MONTH": "month", "WEEK": "weekofyear", "DAY": "day",
          "DAYOFWEEK": "dayofweek", "DOW": "dayofweek", "DOY": "dayofyear", "HOUR": "hour", "MINUTE": "minute",
          "SECOND": "extract_second"}
SHORT_FIELDS = {"Y": "YEAR", "YR": "YEAR", "YRS": "YEAR", "YEARS": "YEAR", "QTR": "QUARTER", "MON": "MONTH",
                "MONS": "MONTH", "MONTHS": "MONTH", "W": "WEEK", "WEEKS": "WEEK", "D": "DAY", "DAYS": "DAY",
                "H": "HOUR", "HR": "HOUR", "HRS": "HOUR", "HOURS": "HOUR", "M": "MINUTE", "MIN": "MINUTE",
                "MINS": "MINUTE", "MINUTES": "MINUTE", "S": "SECOND", "SEC": "SECOND", "SECS": "SECOND",
                "SECONDS": "SECOND"}
NODE_NAMES: dict[type[exp.Expr], str] = {
    exp.Subquery: "a subquery", exp.Select: "a subquery", exp.Exists: "EXISTS", exp.Window: "a window function (OVER)",
    exp.Star: "SELECT *", exp.Lambda: "a lambda", exp.Bracket: "an array or map element", exp.Tuple: "a row of values",
    exp.Interval: "INTERVAL outside window()", exp.Any: "ANY", exp.All: "ALL", exp.Distinct: "DISTINCT",
    exp.Escape: "ESCAPE",
    exp.HexString: "a binary constant", exp.Alias: "AS inside an expression", exp.Collate: "COLLATE",
    exp.AtTimeZone: "AT TIME ZONE", exp.Dot: "a part of a value", exp.Rollup: "ROLLUP", exp.Cube: "CUBE",
    exp.GroupingSets: "GROUPING SETS",
}
NODE_HINTS: dict[type[exp.Expr], str] = {
    exp.Star: "Name the columns.",
    exp.Interval: "Use date_add, or unix_micros and timestamp_micros, for arithmetic on times.",
    exp.Escape: "Escape with a backslash: LIKE '10\\\\%'.",
    exp.Window: "Use GROUP BY window(...); a query has one row for each group and window.",
}
# What a rule reads of a node besides `this` and `expression`, and flags that only steer how sqlglot prints.
PARTS: dict[type[exp.Expr], set[str]] = {
    exp.Div: {"typed", "safe"}, exp.DPipe: {"safe"}, exp.Like: {"negate"}, exp.ILike: {"negate"},
    exp.In: {"expressions"},
    exp.Between: {"low", "high"}, exp.Case: {"ifs", "default"}, exp.If: {"true"}, exp.Cast: {"to"},
    exp.TryCast: {"to", "safe"}, exp.Anonymous: {"expressions"}, exp.Column: {"table", "db", "catalog"},
    exp.Concat: {"expressions", "safe", "coalesce"}, exp.Literal: {"is_string"}, exp.Distinct: {"expressions"},
    exp.StrPosition: {"substr", "position"}, exp.Interval: {"unit"},
}
PART_NAMES = {"query": "a subquery", "field": "IN without parentheses", "symmetric": "SYMMETRIC"}
# The types that a parsed CAST may name, by the parser's names.
CAST_TYPES = {"TEXT": "string", "TIMESTAMPTZ": "timestamp", "TIMESTAMPLTZ": "timestamp",
              "TIMESTAMPNTZ": "timestamp_ntz"}


@dataclass(frozen=True)
class ExpressionBinder:
    """Binds expressions of a text.

    `row_clause` names the clause, such as WHERE, that is evaluated for each row and allows no aggregates; it is empty
    elsewhere. `in_aggregate` says that the expression is an argument of an aggregate.
    """

    sql: str
    scope: Scope
    aggregates: AggregateTypes | None
    window: Callable[[exp.Anonymous], Expression] | None = None
    row_clause: str = ""
    in_aggregate: bool = False

    def bind(self, node: exp.Expr) -> Expression:
        """The typed tree of a parsed expression; errors get the position of the innermost part that has it."""
        try:
            bound = self._bind(node)
            check_written(size(bound))
            return bound
        except SqlError as error:
            error.position = error.position or position_of(self.sql, node)
            raise

    def _bind(self, node: exp.Expr) -> Expression:
        kind = type(node)
        if kind not in KNOWN:
            raise self._refusal(node)
        for part, value in node.args.items():
            if value and part not in ("this", "expression") and part not in PARTS.get(kind, ()):
                raise SqlError("unsupported-clause", f"{PART_NAMES.get(part, part.upper())} is not supported here")
        if kind in BINARY:
            return FUNCTIONS[BINARY[kind]].build((self.bind(node.this), self.bind(node.expression)))
        if kind in FLIPPED:
            return FUNCTIONS[FLIPPED[kind]].build((self.bind(node.expression), self.bind(node.this)))
        if kind in NEGATED:
            return negation(FUNCTIONS[NEGATED[kind]].build((self.bind(node.this), self.bind(node.expression))))
        if kind in UNARY:
            return self._unary(node)
        return RULES[kind](self, node)

    def _refusal(self, node: exp.Expr) -> SqlError:
        if isinstance(node, exp.Func) and type(node) not in NODE_NAMES:
            try:
                function_named(node.sql_name())
            except SqlError as error:
                return error
        name = NODE_NAMES.get(type(node), type(node).__name__.upper())
        return SqlError("unsupported-clause", f"{name} is not supported", hint=NODE_HINTS.get(type(node), ""))

    def _unary(self, node: exp.Expr) -> Expression:
        # -128 and -9223372036854775808 are constants: without the sign they would not fit.
        if isinstance(node, exp.Neg):
            inner = node.this
            if isinstance(inner, exp.Literal) and not inner.is_string:
                return number("-" + inner.name)
            if type(inner) is exp.Cast and _has_suffix(inner.this):
                return self._suffixed("-" + inner.this.name, inner)
        return FUNCTIONS[UNARY[type(node)]].build((self.bind(node.this),))

    def _connector(self, node: exp.Expr) -> Expression:
        """AND or OR of all operands of a chain, which is a tree as deep as it is long: a loop, not a recursion."""
        operands: list[exp.Expr] = []
        stack = [node]
        while stack:
            current = stack.pop()
            if type(current) is type(node):
                stack += [current.expression, current.this]
            else:
                operands.append(current)
        name = "and" if isinstance(node, exp.And) else "or"
        return Call(name, tuple(implicit(self.bind(operand), BOOLEAN) for operand in operands), BOOLEAN)

    def _literal(self, node: exp.Expr) -> Expression:
        return Literal(node.name, STRING) if node.args.get("is_string") else number(node.name)

    def _column(self, node: exp.Expr) -> Expression:
        assert isinstance(node, exp.Column)
        return self.scope.resolve(node, aliases=not self.in_aggregate)

    def _is(self, node: exp.Expr) -> Expression:
        value = self.bind(node.this)
        if isinstance(node.expression, exp.Null):
            return Call("is_null", (value,), BOOLEAN)
        if isinstance(node.expression, exp.Boolean):
            return FUNCTIONS["<=>"].build((implicit(value, BOOLEAN), TRUE if node.expression.this else FALSE))
        raise SqlError("syntax-error", "IS takes NULL, TRUE, FALSE or DISTINCT FROM")

    def _in(self, node: exp.Expr) -> Expression:
        if not node.expressions:
            raise SqlError("syntax-error", "IN takes a list of values in parentheses")
        return FUNCTIONS["in"].build((self.bind(node.this), *map(self.bind, node.expressions)))

    def _between(self, node: exp.Expr) -> Expression:
        value, low, high = (self.bind(part) for part in (node.this, node.args["low"], node.args["high"]))
        return Call("and", (FUNCTIONS["<="].build((low, value)), FUNCTIONS["<="].build((value, high))), BOOLEAN)

    def _like(self, node: exp.Expr) -> Expression:
        value, pattern = self.bind(node.this), self.bind(node.expression)
        if isinstance(node, exp.ILike):  # Spark's own definition of it
            pattern = Literal(pattern.value.lower(), STRING) if isinstance(pattern, Literal) and \
                isinstance(pattern.value, str) else pattern
            value = FUNCTIONS["lower"].build((value,))
        like = FUNCTIONS["like"].build((value, pattern))
        return negation(like) if node.args.get("negate") else like

    def _case(self, node: exp.Expr) -> Expression:
        branches = []
        # Bound once, whatever the number of branches: CASE CASE CASE a WHEN ... would double at every level.
        operand = None if node.this is None else self.bind(node.this)
        for branch in node.args["ifs"]:
            test = self.bind(branch.this)
            if operand is not None:
                test = FUNCTIONS["="].build((operand, test))
            branches.append((test, self.bind(branch.args["true"])))
        default = node.args.get("default")
        return case(branches, None if default is None else self.bind(default))

    def _suffixed(self, text: str, node: exp.Expr) -> Expression:
        """A number with a letter for its type, as in 5L; refuses a number that the type cannot hold, as Spark does."""
        value, kind = number(text), self._type(node.args["to"])
        if kind.is_integral and (not isinstance(value.value, int) or not fits(value.value, kind)):
            raise wrong_type(f"the number {text[:40]} is no {kind}, which its last letter says")
        if kind.is_fractional and not value.value and text.startswith("-"):
            value = Literal(-0.0, DOUBLE)  # which no decimal is
        return cast(value, kind)

    def _cast(self, node: exp.Expr) -> Expression:
        if type(node) is exp.Cast and _has_suffix(node.this):
            return self._suffixed(node.this.name, node)
        value, kind = self.bind(node.this), self._type(node.args["to"])
        if not castable(value.type, kind):
            raise wrong_type(f"a {value.type} cannot be cast to {kind}")
        if isinstance(node, exp.TryCast):
            return value if value.type == kind else Call("try_cast", (value,), kind)
        return cast(value, kind)

    def _type(self, node: exp.Expr) -> DataType:
        if not isinstance(node, exp.DataType) or not isinstance(node.this, exp.DType):
            raise SqlError("unsupported-type", f"the type {node.name[:40]!r} is not supported")
        # No type has -1 digits: what is no number, or a number with a word behind it, is refused by the type.
        digits = [int(part.name[:9]) if is_whole(part.name) and not part.args.get("expression") else -1
                  for part in node.expressions]
        name = node.this.value
        return type_named(CAST_TYPES.get(name, name), *(digits if len(digits) <= 2 else [-1]))

    def _extract(self, node: exp.Expr) -> Expression:
        unit = SHORT_FIELDS.get(node.this.name.upper(), node.this.name.upper())
        if unit not in FIELDS:
            raise SqlError("unsupported-clause", f"EXTRACT of {unit[:40]} is not supported",
                           hint=f"Use one of {', '.join(FIELDS)}.")
        return FUNCTIONS[FIELDS[unit]].build((self.bind(node.expression),))

    def _position(self, node: exp.Expr) -> Expression:
        parts = (node.args["substr"], node.this, node.args.get("position"))
        return FUNCTIONS["locate"].build(tuple(self.bind(part) for part in parts if part is not None))

    def _adjacent(self, node: exp.Expr) -> Expression:
        """The single constant that 'a' 'b' stands for."""
        parts = [part.name for part in node.expressions if isinstance(part, exp.Literal) and part.is_string]
        if len(parts) != len(node.expressions):
            raise self._refusal(node)
        return Literal("".join(parts), STRING)

    def _dot(self, node: exp.Expr) -> Expression:
        """window(...).start or window(...).end, with the call of window written out."""
        part = node.expression.name.lower()
        if self.bind(node.this) != WindowPart("window") or part not in ("start", "end"):
            raise self._refusal(node)
        return WindowPart(part)

    def _function(self, node: exp.Expr) -> Expression:
        assert isinstance(node, exp.Anonymous)
        name = node.name.lower()
        if name == "window":
            if self.window is None:
                raise SqlError("bad-window", f"window() is not allowed in {self.row_clause or 'an expression'}",
                               hint="Write it in GROUP BY.")
            return self.window(node)
        if self.is_aggregate(name):
            return bind_aggregate(self, node, None)
        names = self.aggregates.names() if self.aggregates else ()
        return function_named(name, names).build(tuple(map(self.bind, node.expressions)))

    def is_aggregate(self, name: str) -> bool:
        """Whether a name calls an aggregate."""
        if self.aggregates is None:
            return False
        return name in self.aggregates.names() or name in ("count_if", "percentile_cont")

    def _filter(self, node: exp.Expr) -> Expression:
        condition = node.expression
        assert isinstance(condition, exp.Where)
        return bind_aggregate(self, node.this, condition.this)

    def _modified(self, node: exp.Expr) -> Expression:
        return bind_aggregate(self, node, None)


def _has_suffix(node: exp.Expr) -> bool:
    """Whether a number has a letter for its type; the tokenizer then marks an end of the number behind the letter."""
    if not isinstance(node, exp.Literal) or node.is_string or "end" not in node.meta:
        return False
    return bool(node.meta["end"] - node.meta["start"] + 1 > len(node.name))


def negation(expression: Expression) -> Expression:
    """NOT, before canonicalisation."""
    return Call("not", (expression,), BOOLEAN)


def has_aggregate(expression: Expression) -> bool:
    """Whether an expression holds an aggregate."""
    return any(isinstance(node, Aggregate) for node in walk(expression))


RULES: dict[type[exp.Expr], Callable[[ExpressionBinder, exp.Expr], Expression]] = {
    exp.And: ExpressionBinder._connector,
    exp.Or: ExpressionBinder._connector,
    exp.Paren: lambda binder, node: binder.bind(node.this),
    exp.Literal: ExpressionBinder._literal,
    exp.RawString: lambda _, node: Literal(node.name, STRING),
    exp.Boolean: lambda _, node: TRUE if node.this else FALSE,
    exp.Null: lambda *_: NULL,
    exp.Column: ExpressionBinder._column,
    exp.Is: ExpressionBinder._is,
    exp.In: ExpressionBinder._in,
    exp.Between: ExpressionBinder._between,
    exp.Like: ExpressionBinder._like,
    exp.ILike: ExpressionBinder._like,
    exp.Case: ExpressionBinder._case,
    exp.Cast: ExpressionBinder._cast,
    exp.TryCast: ExpressionBinder._cast,
    exp.Extract: ExpressionBinder._extract,
    exp.StrPosition: ExpressionBinder._position,
    exp.Concat: ExpressionBinder._adjacent,
    exp.Dot: ExpressionBinder._dot,
    exp.Anonymous: ExpressionBinder._function,
    exp.Filter: ExpressionBinder._filter,
    exp.WithinGroup: ExpressionBinder._modified,
    exp.IgnoreNulls: ExpressionBinder._modified,
}
KNOWN = frozenset({*BINARY, *FLIPPED, *NEGATED, *UNARY, *RULES})
