"""Name a column without an alias as Spark does: the expression with all its parentheses, without casts."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

OPERATOR_SIGNS: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "div", exp.EQ: "=", exp.LT: "<",
    exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.NullSafeEQ: "<=>", exp.And: "AND", exp.Or: "OR", exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|", exp.BitwiseXor: "^", exp.BitwiseLeftShift: "<<", exp.BitwiseRightShift: ">>",
}
UPPER_CASE = frozenset({"ceil", "floor", "sqrt", "exp", "log10", "log2", "cbrt"})
MAX_DERIVED_NAME = 200


def name_of(node: exp.Expr) -> str:
    """Spark's name for an expression.

    >>> from weft.sql.parse import parse_expression
    >>> name_of(parse_expression("sum(length) + 1 > CAST(x AS INT)"))
    '((sum(length) + 1) > x)'
    """
    return _text(node)


def _text(node: exp.Expr) -> str:
    """The text of a node, cut to the length that a name may have, since no name shows more of a part."""
    if type(node) in OPERATOR_SIGNS:
        return _chain(node)
    print_node = NODE_TEXTS.get(type(node))
    return (print_node(node) if print_node is not None else node.name)[:MAX_DERIVED_NAME]


def _chain(node: exp.Expr) -> str:
    """The text of a chain such as a AND b AND c, which is a tree as deep as it is long: a loop, not a recursion."""
    operators: list[exp.Expr] = []
    while type(node) in OPERATOR_SIGNS:
        operators.append(node)
        node = node.this
    chain = _text(node)
    for operator in reversed(operators):
        chain = f"({chain} {OPERATOR_SIGNS[type(operator)]} {_text(operator.expression)})"[:MAX_DERIVED_NAME]
    return chain


def _list(nodes: list[exp.Expr]) -> str:
    return ", ".join(map(_text, nodes))


def _pair(form: str) -> Callable[[exp.Expr], str]:
    """Prints both operands of a node into a form, behind NOT where the node says so."""
    def text(node: exp.Expr) -> str:
        pair = form.format(_text(node.this), _text(node.expression))
        return f"(NOT {pair})" if node.args.get("negate") else pair
    return text


def _not(node: exp.Expr) -> str:
    test = node.this
    if isinstance(test, exp.Is) and isinstance(test.expression, exp.Null):
        return f"({_text(test.this)} IS NOT NULL)"
    return f"(NOT {_text(test)})"


def _negative(node: exp.Expr) -> str:
    inner = _text(node.this)
    return f"-{inner}" if isinstance(node.this, exp.Literal) else f"(- {inner})"


def _is(node: exp.Expr) -> str:
    test = "IS NULL" if isinstance(node.expression, exp.Null) else f"<=> {_text(node.expression)}"
    return f"({_text(node.this)} {test})"


def _within(node: exp.Expr) -> str:
    keys = [key.this for key in node.expression.expressions]
    return f"{_text(node.this)} WITHIN GROUP (ORDER BY {_list(keys)})"


def _call(node: exp.Expr) -> str:
    name = node.name.lower()
    if name == "window":
        return name
    if name == "if":
        return f"(IF({_list(node.expressions)}))"
    return f"{name.upper() if name in UPPER_CASE else name}({_list(node.expressions)})"


def _case(node: exp.Expr) -> str:
    operand = None if node.this is None else _text(node.this)

    def test(branch: exp.Expr) -> str:
        return _text(branch.this) if operand is None else f"({operand} = {_text(branch.this)})"
    whens = " ".join(f"WHEN {test(branch)} THEN {_text(branch.args['true'])}" for branch in node.args["ifs"])
    default = node.args.get("default")
    return f"CASE {whens}{'' if default is None else ' ELSE ' + _text(default)} END"


def _cast(node: exp.Expr) -> str:
    """The text of a cast: of its operand alone, but for constants such as DATE '2026-01-31'."""
    operand = _text(node.this)
    if isinstance(node.this, exp.Literal) and node.this.is_string:
        kind = {"DATE": "DATE", "TIMESTAMPTZ": "TIMESTAMP"}.get(str(node.args["to"].this.value))
        return f"{kind} '{operand}'" if kind else operand
    return operand


NODE_TEXTS: dict[type[exp.Expr], Callable[[exp.Expr], str]] = {
    exp.Paren: lambda node: _text(node.this),
    exp.Cast: _cast,
    exp.TryCast: lambda node: _text(node.this),
    exp.Dot: lambda node: _text(node.expression),
    exp.Null: lambda _: "NULL",
    exp.Boolean: lambda node: "true" if node.this else "false",
    exp.Star: lambda _: "1",  # Spark prints count(*) as count(1)
    exp.Neg: _negative,
    exp.Not: _not,
    exp.BitwiseNot: lambda node: f"~{_text(node.this)}",
    exp.NEQ: _pair("(NOT ({} = {}))"),
    exp.NullSafeNEQ: _pair("(NOT ({} <=> {}))"),
    exp.Is: _is,
    exp.In: lambda node: f"({_text(node.this)} IN ({_list(node.expressions)}))",
    exp.Between: lambda node: f"between({_list([node.this, node.args['low'], node.args['high']])})",
    exp.Like: _pair("{} LIKE {}"),
    exp.ILike: _pair("ilike({}, {})"),
    exp.RegexpLike: _pair("RLIKE({}, {})"),
    exp.DPipe: _pair("concat({}, {})"),
    exp.Case: _case,
    exp.Filter: lambda node: f"{_text(node.this)} FILTER (WHERE {_text(node.expression.this)})",
    exp.WithinGroup: _within,
    exp.IgnoreNulls: lambda node: _text(node.this),
    exp.Distinct: lambda node: f"DISTINCT {_list(node.expressions)}",
    exp.Extract: lambda node: f"extract({node.this.name.lower()} FROM {_text(node.expression)})",
    exp.StrPosition: lambda node: f"locate({_text(node.args['substr'])}, {_text(node.this)}, 1)",
    exp.Anonymous: _call,
}
