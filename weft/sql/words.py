"""Keep only the keywords of our own small language for the parser; all others become plain names, or are refused.

The parser knows the SQL of thirty systems. Where a text wanders off into a corner of it that no query of ours needs,
the parser may take time that doubles with every word (`a JOIN b c JOIN d ...`, `struct(struct(struct(...`), or read
the text as something that Spark does not. So keywords are an allow-list, like functions.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.parsers.spark import SparkParser
from sqlglot.tokens import Token, TokenType

from weft.errors import SqlError
from weft.sql.ddl import TYPE_HINTS, TYPES
from weft.sql.texts import position_at

KEYWORDS = frozenset({
    TokenType.SELECT, TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY,
    TokenType.LIMIT, TokenType.ALIAS, TokenType.DISTINCT, TokenType.FILTER, TokenType.ASC, TokenType.DESC,
    TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.IN, TokenType.BETWEEN, TokenType.LIKE, TokenType.ILIKE,
    TokenType.RLIKE, TokenType.IS, TokenType.NULL, TokenType.TRUE, TokenType.FALSE, TokenType.CASE, TokenType.WHEN,
    TokenType.THEN, TokenType.ELSE, TokenType.END, TokenType.INTERVAL, TokenType.DIV, TokenType.ESCAPE,
})
SIGNS = frozenset({
    TokenType.L_PAREN, TokenType.R_PAREN, TokenType.COMMA, TokenType.DOT, TokenType.STAR, TokenType.PLUS,
    TokenType.DASH, TokenType.SLASH, TokenType.MOD, TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE,
    TokenType.GT, TokenType.GTE, TokenType.NULLSAFE_EQ, TokenType.AMP, TokenType.PIPE, TokenType.CARET,
    TokenType.TILDE, TokenType.DPIPE, TokenType.DCOLON, TokenType.NOT,
})
VALUES = frozenset({TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.RAW_STRING, TokenType.NUMBER,
                    TokenType.HEX_STRING})
# Words and signs that no query of ours holds, and the clause that each of them stands for.
REFUSED = {
    TokenType.HINT: "a hint",
    TokenType.PARAMETER: "a parameter",
    TokenType.PLACEHOLDER: "a parameter",
    TokenType.L_BRACE: "a parameter",
    TokenType.BLOCK_START: "a parameter",
    TokenType.COLON: "a parameter or a path into JSON",
    TokenType.ARROW: "a lambda",
    TokenType.FARROW: "a named argument",
    TokenType.L_BRACKET: "an array or map element",
    TokenType.SELECT: "a subquery",
    TokenType.JOIN: "JOIN",
    TokenType.UNION: "UNION",
    TokenType.INTERSECT: "INTERSECT",
    TokenType.EXCEPT: "EXCEPT",
    TokenType.LATERAL: "LATERAL VIEW",
    TokenType.PIVOT: "PIVOT",
    TokenType.UNPIVOT: "UNPIVOT",
    TokenType.QUALIFY: "QUALIFY",
    TokenType.TABLE_SAMPLE: "TABLESAMPLE",
    TokenType.OVER: "a window function (OVER)",
    TokenType.CLUSTER_BY: "CLUSTER BY",
    TokenType.SORT_BY: "SORT BY",
    TokenType.DISTRIBUTE_BY: "DISTRIBUTE BY",
    TokenType.GROUPING_SETS: "GROUPING SETS",
    TokenType.OFFSET: "OFFSET",
    TokenType.INTO: "INTO",
    TokenType.WITH: "WITH",
    TokenType.VALUES: "VALUES",
    TokenType.UNNEST: "UNNEST",
}
# `offset` and `values` are names, unless what makes a clause of them follows.
NAMES = {TokenType.OFFSET: TokenType.NUMBER, TokenType.VALUES: TokenType.L_PAREN}
# Words that make a clause only behind another.
CLAUSES = {"ALL": {TokenType.GROUP_BY}}
HINTS = {
    "JOIN": "A query reads one stream; join before the stream is added.",
    "a hint": "Weft plans the work itself; remove the hint.",
    "a parameter": "Write the value itself.",
    "a second stream in FROM": "A query reads one stream; join before the stream is added.",
    "a subquery": "A query reads one stream, directly.",
    "a window function (OVER)": "Use GROUP BY window(...); a query has one row for each group and window.",
}
TYPE_WORDS = frozenset({*TYPES, *TYPE_HINTS, "decimal", "dec", "numeric", "l", "s", "y", "d", "f", "bd"})
NO_OPERAND = frozenset({TokenType.COMMA, TokenType.R_PAREN, TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY,
                        TokenType.HAVING, TokenType.ORDER_BY, TokenType.LIMIT, TokenType.SEMICOLON})
CLAUSE_WORDS = frozenset({TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY,
                          TokenType.LIMIT})
NOTHING = Token(TokenType.SEMICOLON, "")


def unsupported(sql: str, clause: str, offset: int) -> SqlError:
    """The refusal of a clause by name, with its position."""
    return SqlError("unsupported-clause", f"{clause} is not supported", hint=HINTS.get(clause, ""),
                    position=position_at(sql, offset))


def keep_words(sql: str, tokens: Sequence[Token]) -> None:
    """Refuse words that no query of ours holds; turn other foreign keywords into plain names, within the tokens."""
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else NOTHING
        after = tokens[at + 1] if at + 1 < len(tokens) else NOTHING
        # A word behind a dot is a name, whatever it is elsewhere: `window.end`, `p.values`.
        if before.token_type is not TokenType.DOT:
            _refuse(sql, token, before, after)
        if after.token_type is TokenType.L_PAREN:
            _refuse_call(sql, token, before)
        kind = token.token_type
        if kind in KEYWORDS or kind in SIGNS or kind in VALUES:
            continue
        a_type = before.token_type in (TokenType.ALIAS, TokenType.DCOLON) or after.token_type is TokenType.STRING
        if kind in SparkParser.TYPE_TOKENS and a_type and token.text.lower() in TYPE_WORDS:
            continue
        if not token.text[:1].isalpha() and token.text[:1] != "_":
            raise SqlError("syntax-error", f"cannot parse the text: {token.text[:10]!r} is no operator of Spark's",
                           position=position_at(sql, token.start))
        if kind is TokenType.WINDOW and at + 2 < len(tokens) and tokens[at + 2].token_type is TokenType.ALIAS:
            raise unsupported(sql, "WINDOW", token.start)
        token.token_type = TokenType.VAR
    _refuse_inner_clauses(sql, tokens)


def _refuse_inner_clauses(sql: str, tokens: Sequence[Token]) -> None:
    """Refuse clauses inside parentheses, on which the parser takes twice as long with each: f(a LIMIT f(a LIMIT ...

    FILTER (WHERE ..), WITHIN GROUP (ORDER BY ..) and EXTRACT(.. FROM x) are allowed, and so is IS DISTINCT FROM, which
    is no clause.
    """
    depth = 0
    for at, token in enumerate(tokens):
        kind = token.token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if depth > 0 and kind in CLAUSE_WORDS and tokens[at - 1].token_type is not TokenType.DOT:
            opens = tokens[at - 1].token_type is TokenType.L_PAREN and kind in (TokenType.WHERE, TokenType.ORDER_BY)
            field = kind is TokenType.FROM and at > 2 and tokens[at - 3].text.upper() == "EXTRACT"
            compares = kind is TokenType.FROM and at > 2 and tokens[at - 1].token_type is TokenType.DISTINCT \
                and tokens[at - 2].token_type in (TokenType.IS, TokenType.NOT)
            if not opens and not field and not compares:
                raise SqlError("syntax-error", f"cannot parse the text: {token.text} stands inside parentheses",
                               position=position_at(sql, token.start))


def _refuse(sql: str, token: Token, before: Token, after: Token) -> None:
    kind = token.token_type
    if kind is TokenType.SEMICOLON:
        raise SqlError("several-statements", "the text holds more than one statement",
                       hint="Register each query on its own.", position=position_at(sql, token.start))
    if kind in REFUSED and before is not NOTHING and NAMES.get(kind, after.token_type) is after.token_type:
        raise unsupported(sql, REFUSED[kind], token.start)
    if before.token_type in CLAUSES.get(token.text.upper(), ()):
        raise unsupported(sql, f"{before.text} {token.text.upper()}", token.start)
    # `~~` and `~*` are operators of another system's.
    if kind in (TokenType.LIKE, TokenType.ILIKE, TokenType.RLIKE) and not token.text.isalpha():
        raise SqlError("syntax-error", f"cannot parse the text: {token.text!r} is no operator of Spark's",
                       position=position_at(sql, token.start))
    # The parser reads past a missing operand after a comma, and `SELECT a, FROM s` would pass.
    if kind is TokenType.COMMA and after.token_type in NO_OPERAND:
        raise SqlError("syntax-error", "something is missing after the comma", position=position_at(sql, token.start))
    if kind in SparkParser.NESTED_TYPE_TOKENS and after.token_type is TokenType.LT:
        raise SqlError("unsupported-type", f"the type {token.text.lower()} is not supported",
                       hint="Arrays, maps and structs cannot be computed with.", position=position_at(sql, token.start))


def _refuse_call(sql: str, token: Token, before: Token) -> None:
    if before.token_type is TokenType.DOT and token.token_type not in SIGNS:
        raise SqlError("unknown-function", f"{token.text[:40]!r} is called as part of something else",
                       hint="Functions have no qualifier.", position=position_at(sql, token.start))
    if token.text.upper() == "TRANSFORM":  # of a SELECT that runs a script, before the grammar stumbles on USING
        raise SqlError("forbidden-function", "transform is not allowed in a query",
                       hint="Queries reach nothing but their stream.", position=position_at(sql, token.start))
