"""Parse a text that is a single SELECT, or refuse it with a code, a position and a hint.

sqlglot reads the Spark dialect for us, with two changes. Function calls stay as the user wrote them: the dialect's
own builders rewrite arguments (date_sub negates, date_format translates its pattern) and we need what was said. And it
meets only the keywords of our own language (weft/sql/words.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokens import Token, TokenType

from weft.errors import SqlError
from weft.sql.guard import check_tokens, check_tree, position_of, too_deep
from weft.sql.precedence import WRITTEN, check_precedence
from weft.sql.texts import check_size, position_at
from weft.sql.window_clause import WindowClause, take_window
from weft.sql.words import HINTS, keep_words, unsupported


class _Tokenizer(Spark.Tokenizer):
    # Commands swallow the rest of the text by recursion; we refuse them by their first word instead.
    COMMANDS = set()


class _Parser(SparkParser):
    STRICT_CAST = True  # CAST is CAST; only TRY_CAST gives NULL
    FUNCTIONS = {}
    FUNCTION_PARSERS = {name: SparkParser.FUNCTION_PARSERS[name]
                        for name in ("CAST", "TRY_CAST", "EXTRACT", "POSITION")}
    # NULL, TRUE and FALSE get a position in the text like other constants.
    PRIMARY_PARSERS = {
        **SparkParser.PRIMARY_PARSERS,
        TokenType.NULL: lambda self, token: self.expression(exp.Null(), token),
        TokenType.TRUE: lambda self, token: self.expression(exp.Boolean(this=True), token),
        TokenType.FALSE: lambda self, token: self.expression(exp.Boolean(this=False), token),
    }
    NO_PAREN_FUNCTION_PARSERS = {"CASE": SparkParser.NO_PAREN_FUNCTION_PARSERS["CASE"]}

    def _parse_paren(self) -> exp.Expr | None:
        # The parser also invents parentheses to print its own grouping; only the user's settle what groups with what.
        paren = super()._parse_paren()
        if isinstance(paren, exp.Paren):
            paren.meta[WRITTEN] = True
        return paren


_DIALECT = Spark()

FIRST_WORDS = {
    TokenType.WITH: "WITH (a common table expression)",
    TokenType.VALUES: "VALUES",
    TokenType.L_PAREN: "a query in parentheses",
    TokenType.FROM: "FROM before SELECT",
}
# Parts of a SELECT that we do not have, by sqlglot's name for them.
REFUSED_PARTS = {
    "with_": "WITH (a common table expression)",
    "kind": "SELECT AS STRUCT",
    "hint": "a hint",
    "into": "INTO",
    "exclude": "EXCEPT in SELECT",
    "operation_modifiers": "SELECT ALL or a modifier after SELECT",
    "match": "MATCH_RECOGNIZE",
    "laterals": "LATERAL VIEW",
    "joins": "a second stream in FROM",
    "connect": "CONNECT BY",
    "pivots": "PIVOT",
    "prewhere": "PREWHERE",
    "qualify": "QUALIFY",
    "windows": "WINDOW",
    "distribute": "DISTRIBUTE BY",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "offset": "OFFSET",
    "locks": "FOR UPDATE",
    "sample": "TABLESAMPLE",
    "settings": "SETTINGS",
    "format": "FORMAT",
    "options": "OPTION",
    "for_": "FOR",
}
SUPPORTED_PARTS = {"expressions", "distinct", "from_", "where", "group", "having", "order", "limit"}


def parse_select(sql: str) -> tuple[exp.Select, WindowClause | None]:
    """The only SELECT that a text holds, and the window that is written beside its stream."""
    tokens = _tokens(sql)
    first = tokens[0]
    if first.token_type is not TokenType.SELECT:
        if first.token_type in FIRST_WORDS:
            raise unsupported(sql, FIRST_WORDS[first.token_type], first.start)
        raise SqlError("not-a-select", f"a query starts with SELECT, not with {first.text[:40]!r}",
                       hint="Only SELECT queries can be registered.", position=position_at(sql, first.start))
    tokens, clause = take_window(sql, tokens)
    keep_words(sql, tokens)
    tree = _parse(sql, tokens, expression=False)
    if not isinstance(tree, exp.Select):
        raise SqlError("not-a-select", "the text is not a SELECT query", hint="Only SELECT queries can be registered.")
    for part, value in tree.args.items():
        if value and part not in SUPPORTED_PARTS:
            refused = REFUSED_PARTS.get(part, part.upper())
            node = value[0] if isinstance(value, list) else value
            at = position_of(sql, node) if isinstance(node, exp.Expr) else None
            raise SqlError("unsupported-clause", f"{refused} is not supported", hint=HINTS.get(refused, ""),
                           position=at or position_at(sql, first.start))
    if not tree.expressions:
        raise SqlError("syntax-error", "SELECT names no columns", position=position_at(sql, first.end + 1))
    return tree, clause


def parse_expression(sql: str) -> exp.Expr:
    """The only scalar expression that a text holds."""
    tokens = _tokens(sql)
    keep_words(sql, tokens)
    return _parse(sql, tokens, expression=True)


def _tokens(sql: str) -> list[Token]:
    check_size(sql)
    try:
        tokens = _Tokenizer(_DIALECT).tokenize(sql)  # a new tokenizer each time: it holds its text
    except TokenError as error:
        # The tokenizer says where the open quote stands only in the words of its own error.
        match = re.search(r"from \d+:(\d+)$", str(error.__cause__))
        raise SqlError("syntax-error", "the text ends inside a string or a name, or holds a malformed number",
                       hint="Close the quote that was opened.",
                       position=position_at(sql, int(match[1]) if match else error.start or 0)) from None
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise SqlError("syntax-error", "the text is empty", hint="Write a SELECT query.")
    check_tokens(sql, tokens)
    return _joined_strings(sql, tokens)


def _joined_strings(sql: str, tokens: list[Token]) -> list[Token]:
    """The tokens with 'it''s' as a single string, as in Spark 4; the tokenizer sees two strings side by side."""
    joined: list[Token] = []
    for token in tokens:
        last = joined[-1] if joined else None
        if last is not None and token.token_type is last.token_type is TokenType.STRING \
                and last.end + 1 == token.start and sql[last.end] == sql[token.start]:
            joined[-1] = Token(TokenType.STRING, f"{last.text}{sql[token.start]}{token.text}", line=token.line,
                               col=token.col, start=last.start, end=token.end)
        else:
            joined.append(token)
    return joined


def _parse(sql: str, tokens: list[Token], *, expression: bool) -> exp.Expr:
    parser = _Parser(dialect=_DIALECT)
    try:
        trees = parser.parse_into(exp.Expr, tokens, sql) if expression else parser.parse(tokens, sql)
    except ParseError as error:
        raise _syntax_error(sql, tokens, error) from None
    except RecursionError:
        raise too_deep() from None
    # The parser meets hostile text here; whatever it trips over is the text's fault and must not end a session.
    except Exception:  # noqa: BLE001
        raise SqlError("syntax-error", "the text cannot be parsed") from None
    if len(trees) != 1 or trees[0] is None:
        raise SqlError("syntax-error", "the text cannot be parsed")
    check_precedence(sql, check_tree(sql, trees[0]))
    return trees[0]


def _syntax_error(sql: str, tokens: Sequence[Token], error: ParseError) -> SqlError:
    detail = error.errors[0] if error.errors else {}
    line, column = detail.get("line"), detail.get("col")
    token = next((token for token in tokens if (token.line, token.col) == (line, column)), None)
    said = str(detail.get("description") or "").partition(" but got")[0]
    if "Required keyword" in said:
        said = "an operand is missing"
    elif "Unexpected token" in said or not said:
        said = "this was not expected here"
    message = f"{said[0].lower()}{said[1:]}"
    near = f", near {token.text[:40]!r}" if token else ""
    return SqlError("syntax-error", f"cannot parse the text: {message}{near}",
                    position=position_at(sql, token.start) if token else None)
