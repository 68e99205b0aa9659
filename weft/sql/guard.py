"""Bounds on texts and parsed trees, so that no text exhausts the stack, the memory or the patience of the parser.

Everything here is a single pass with a counter, never a recursion. The parser that comes after recurses once per nested
parenthesis, CASE or NOT (about 25 Python frames each), so the depth is bounded on the tokens, before it starts. Tokens
come from the parser's own tokenizer: a scanner of our own could be talked into seeing a string where there is none.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from weft.errors import Position, SqlError
from weft.sql.texts import position_at

MAX_TOKENS = 4096
MAX_NODES = 8192
MAX_IN_LIST = 1000
# Nested parentheses, brackets, CASE and NOT. 32 of the costliest kind stay under Python's limit of 1000 frames.
MAX_DEPTH = 32
# The height of a parsed tree; a + b + c + ... is a tree as high as it is long. AND and OR chains do not count.
MAX_HEIGHT = 100

OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
PREFIX = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE, TokenType.INTERVAL}


def check_tokens(sql: str, tokens: Sequence[Token]) -> None:
    """Refuse too many tokens and too deep a nesting; strings and comments are no tokens of their own here."""
    if len(tokens) > MAX_TOKENS:
        raise SqlError("too-large", f"the text has more than {MAX_TOKENS} words and signs", hint="Split the query.",
                       position=position_at(sql, tokens[MAX_TOKENS].start))
    depth, cases, prefixes = 0, 0, 0
    before = TokenType.SEMICOLON
    for token in tokens:
        kind = token.token_type
        if kind in OPENING:
            depth += 1
        elif kind in CLOSING:
            depth -= 1
        elif kind is TokenType.CASE and before is not TokenType.DOT:
            cases += 1
        # `window.end` is a column and ends no CASE; counting it as the end of a CASE would hide nesting.
        elif kind is TokenType.END and before is not TokenType.DOT and cases:
            cases -= 1
        # Prefixes nest until an operand ends them; prefixes before a parenthesis stay open, so they still count there.
        if kind in PREFIX:
            prefixes += 1
        elif kind not in OPENING and kind is not TokenType.CASE:
            prefixes = 0
        if depth + cases + prefixes > MAX_DEPTH:
            raise too_deep(position_at(sql, token.start))
        before = kind


def check_tree(sql: str, tree: exp.Expr) -> list[exp.Expr]:
    """Refuse too many nodes, too high a tree and too long an IN list; answers the nodes for further looks."""
    stack = [(tree, 0)]
    nodes: list[exp.Expr] = []
    while stack:
        node, height = stack.pop()
        nodes.append(node)
        if len(nodes) > MAX_NODES:
            raise SqlError("too-large", f"the query has more than {MAX_NODES} parts", hint="Split the query.")
        if height > MAX_HEIGHT:
            raise too_deep(position_of(sql, node))
        if isinstance(node, exp.In) and len(node.expressions) > MAX_IN_LIST:
            raise SqlError("too-large", f"the IN list has more than {MAX_IN_LIST} values",
                           hint="Compare with a range, or split the query.", position=position_of(sql, node))
        chain = type(node) if isinstance(node, exp.And | exp.Or) else None
        for child in node.iter_expressions():
            stack.append((child, height if type(child) is chain else height + 1))
    return nodes


def position_of(sql: str, node: exp.Expr) -> Position | None:
    """Where a node starts: its own mark, or the first mark under it."""
    marks = [part.meta["start"] for part in node.walk() if "start" in part.meta]
    return position_at(sql, min(marks)) if marks else None


def too_deep(position: Position | None = None) -> SqlError:
    """The refusal of a text that nests too deep, noticed before parsing or (as a last resort) during it."""
    return SqlError("too-deep", f"the text is nested more than {MAX_DEPTH} levels deep",
                    hint="Take parts apart, or remove parentheses that change nothing.", position=position)
