r"""Regular expressions that are let through stay quick on any string; the famous slow ones are refused, usual ones are not.

The judge is a matcher that counts its steps over strings made to provoke it: Python's own, with a time limit.
"""

from __future__ import annotations

import itertools
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from weft.algebra.characters import Alphabet
from weft.algebra.expressions import Call, Column, Literal
from weft.algebra.functions import FUNCTIONS
from weft.algebra.patterns import check_like, check_replacement, like_regex
from weft.algebra.regexes import check_regex
from weft.algebra.types import STRING
from weft.errors import SqlError

USUAL = r"""
^[a-c]
^10\.
error
error|warn|fatal
(?i)error
\d+\.\d+\.\d+\.\d+
(\d{1,3}\.){3}\d{1,3}
^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$
[0-9a-f]{1,4}(:[0-9a-f]{1,4}){7}
[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}
(GET|POST|PUT|DELETE) /api/v\d+/(users|items)(/\d+)?
^https?://([^/:]+)(:\d+)?(/[^?]*)?
[\w.+-]+@[\w-]+\.[\w.]+
^\s*(\w+)\s*=\s*(.*?)\s*$
.*error.*timeout
.*error.*timeout.*
^.*user=(.*) from (.*)$
"([^"]*)","([^"]*)","([^"]*)"
^\[(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(\.\d+)?Z?\] (\w+):
(foo)+
(ab)*c
\bfoo\b.*\bbar\b
a{2,5}b?
(?<=a)b
x(?!y)
^a*+b
(?:\w\d)*c
(?:[a-z]:)+
(?:a++b){1,50}c
.{3,200}x
.{2,}x
[^c]{2,}c
\w{2,}
\W+\w+\W+
(?i)[^é]+É
(?i)^.*a.*b.*c
.*error.*connection to the database was refused
^[0-9a-f]{64} .*a.*b.*$
.*id=[0-9a-f]{32}
[\\\\\[a]
[]a]
""".strip().split("\n") + ["[\t -~\U0010ffff]+"]

SLOW = r"""
(a+)+$
(a*)*b
(a|aa)+$
(a|a)*b
([a-zA-Z]+)*$
(.*a){20}
(.*)*
(x+x+)+y
(x{1,30}){1,30}y
(x{0,99}){99}y
(a?){50}a{50}
a*a*a*a*a*b
.*.*.*=
.*a.*b.*c.*d
\w*\w*\w*\w*x
\d+\d+\d+\d+x
[ab]*[bc]*[bd]*[be]*x
(?:a|b|ab)*c
(a|b|ab){1,60}c
(\w+\s?)*$
([^,]*,)*x
(?=.*a.*b.*c)x
(?m)^a*a*a*b
^(([a-z])+.)+[A-Z]([a-z])+$
(.{1,99}){99}
(?:(?:(?:a{0,9}){0,9}){0,9}){0,9}b
(?:^a|b).*c.*d.*e
(?!^).*a.*b.*c
(?:^)?.*a.*b.*c
(?:^)*.*a.*b.*c
.*.*a{9999}
.*.*[ab]{900,}
.*.*(?:a){900}b
.*.*(?:ab){300}
.*.*(ab){300,301}c
.*.*b?+a{900}c
.*.*\b(?:c|a{900})b
.*.*x*+y
.*.*(?=a{900})b
""".strip().split("\n") + ["x?" * 60 + "x" * 60, ".*.*" + "a" * 900 + "b", ".*.*" + "(ab)" * 200 + "c"]

# Java's classes are those of ASCII: é is no \w to it, so that \W+ takes it and nothing parts the repetitions.
SLOW_IN_JAVA = ["\\W+é" * 8 + "x", "\\D+٣" * 8, "\\S+\u00a0" * 8, "(?i)" + "[^é]+É" * 8, "(?i)" + "[^É]+é" * 8]

# These overflow the stack of Java 17 on some thousand characters, which ends the process, or take most of it.
DEEP = r"""
(?:a++b)*c
(?:a?+b)*c
(?:a{1,3}+b)*c
(?:a*+b){2,}c
(?:a++b)+c
(a++b)*c
(?:(?:a++b))*c
(?:(?:ab){1,2}+c)*d
(?:a++b){1,900}c
(?:.b)*c
(.)*c
(?:[^x]b)*c
(?:\Wb)*c
(?:[a-🧵]b)*c
.{0,9999}c
(?:|a)*c
(?:a|b)*c
(?:a?b)*c
""".strip().split("\n") + ["(" * 19 + "a?b" + ")" * 19 + "{1,600}c", "(?:" + "()" * 200 + "a?){1,900}c",
                           "(?:" + "\\B" * 200 + "b?){1,900}c", "(?:a++b){300}" * 40]


# Java goes round as often as it says without moving on.
IN_PLACE = r"""
(?=(?=(?=a){9999}){9999}){9999}
(?!(?!a){9999}){9999}
(?<=(?<=a){9999}){9999}
(?<!a){2,}b
(?=a)*b
(?!a)+b
(?<=a)?b
(?=a)*+b
(?:\B\B\B){9999,}a
(?:^$){2,3}
(?:a{0}){9999,}b
(){900,}
(?:)*
(?:(?:\b))*+a
""".strip().split("\n")


@pytest.mark.parametrize("pattern", USUAL)
def test_a_usual_pattern_is_allowed(pattern: str) -> None:
    assert check_regex(pattern) == re.compile(pattern).groups


@pytest.mark.parametrize("pattern", SLOW + SLOW_IN_JAVA + DEEP + IN_PLACE)
def test_a_famous_slow_pattern_is_refused_at_once(pattern: str) -> None:
    start = time.process_time()
    with pytest.raises(SqlError) as refused:
        check_regex(pattern)
    assert refused.value.code == "bad-pattern"
    assert refused.value.hint
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize("pattern", ["(?P<n>a)", "(?<n>a)", "(?>a)", "(?#a)", "(?P=n)", "(a)(?(1)b|c)", "(?i:a)", "(?x)a b", "(?a)a"])
def test_what_only_one_of_python_and_java_reads_is_refused(pattern: str) -> None:
    with pytest.raises(SqlError) as refused:
        check_regex(pattern)
    assert refused.value.code == "bad-pattern"


@pytest.mark.parametrize("pattern", [r"[\\[a]]", r"[^\\[a]]", r"[a[b]]", r"[a&&b]", r"[\\\\\\[a]]", r"[a\\--z]", r"[a~~b]", r"[a\q]"])
def test_a_set_of_sets_is_refused(pattern: str) -> None:
    with pytest.raises(SqlError) as refused:
        check_regex(pattern)
    assert refused.value.code == "bad-pattern" and "class" in refused.value.message


def test_what_an_item_takes_is_what_pythons_matcher_takes() -> None:
    chance = random.Random(11)
    ends = ["a", "k", "Z", "0", "_", " ", "é", "É", "🧵", "\u2028", "\\n", "\\-", "\\]", "\\\\", "+", "^", "~"]
    whole = ["\\d", "\\D", "\\w", "\\W", "\\s", "\\S"]
    compared = 0
    for _ in range(400):
        inside = "".join(
            f"{chance.choice(ends)}-{chance.choice(ends)}" if chance.random() < 0.3 else chance.choice(ends + whole)
            for _ in range(chance.randint(1, 5))
        )
        item = chance.choice([f"[{inside}]", f"[^{inside}]", chance.choice(whole), ".", chance.choice(ends[:9]), "\\."])
        flags = chance.choice([0, re.IGNORECASE, re.DOTALL, re.IGNORECASE | re.DOTALL])
        try:
            matches = re.compile(item, flags | re.ASCII).fullmatch
        except re.error:
            continue
        alphabet = Alphabet(item, flags)
        expected = sum(1 << place for place, one in enumerate(alphabet.letters) if matches(one))
        assert alphabet.takes(item) == expected, (item, flags)
        compared += 1
    assert compared > 200


def test_patterns_of_many_letters_are_read_quickly() -> None:
    plain = ["".join(map(chr, range(0x4E00 + 990 * turn, 0x4E00 + 990 * (turn + 1)))) for turn in range(20)]
    classes = ["".join(f"[{chr(one)}]" for one in range(0x4E00 + turn, 0x4E00 + turn + 330)) for turn in range(20)]
    mixed = ["".join(f"{chr(one)}+" for one in range(0xC0 + turn, 0xC0 + turn + 490)) for turn in range(20)]
    start = time.process_time()
    for pattern in plain + classes + mixed:
        check_regex(pattern)
    assert time.process_time() - start < 2


PIECES = ["a", "b", ".", "[ab]", "[^a]", "\\w", "\\d", "(a)", "(ab)", "(a|b)", "(a+)", "(?:a?b)", "(.*)"]
COUNTS = ["", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "*?"]

# Matches every pattern of a list against strings made of its own letters; says which took longest.
MATCH = """
import json, re, sys, time
worst, slowest = 0.0, ""
for pattern in json.loads(sys.stdin.read()):
    compiled = re.compile(pattern)
    for text in ("a" * 120, "ab" * 60, "a" * 60 + "b" * 60, "b" * 119 + "!"):
        start = time.process_time()
        compiled.search(text)
        took = time.process_time() - start
        if took > worst:
            worst, slowest = took, pattern
print(json.dumps([worst, slowest]))
"""


def test_random_patterns_that_are_allowed_are_quick(tell: Callable[[str], None]) -> None:
    """A cube of 120 characters is under two million steps; without the check, some of these run for hours."""
    import json

    seed = time.time_ns()
    tell(f"seed {seed}")
    chance = random.Random(seed)
    allowed, refused = [], 0
    for _ in range(1500):
        pattern = chance.choice(["", "^"]) + "".join(
            chance.choice(PIECES) + chance.choice(COUNTS) for _ in range(chance.randint(1, 7))
        ) + chance.choice(["", "$", "!"])
        try:
            check_regex(pattern)
            allowed.append(pattern)
        except SqlError:
            refused += 1
    assert len(allowed) > 150 and refused > 150
    done = subprocess.run(
        [sys.executable, "-c", MATCH], input=json.dumps(allowed), capture_output=True, text=True, timeout=60, check=True
    )
    worst, slowest = json.loads(done.stdout)
    assert worst < 2, slowest


LIKES = ["%a%b%c%", "a%b%c%d", "%%a%%b%%", "%_a%_b%_", "\\%%a%\\_%b", "%a%a%a%a%a%a%a%a%b", "_%_%_%", "%a.b%[c]%(d%", "%\\\\%a%", "%é%🧵%x%"]


def like(pattern: str, text: str) -> bool:
    """LIKE by its definition: % is any text, _ any character, and a backslash takes what follows as it is."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(like(pattern[1:], text[at:]) for at in range(len(text) + 1))
    if pattern[0] == "\\":
        return text[:1] == pattern[1] and like(pattern[2:], text[1:])
    return bool(text) and pattern[0] in ("_", text[0]) and like(pattern[1:], text[1:])


@pytest.mark.parametrize("pattern", LIKES)
def test_like_as_a_regular_expression_means_the_same(pattern: str) -> None:
    check_like(pattern)
    regex = like_regex(pattern)
    assert regex is not None
    # Python 3.11 knows atomic groups too, and calls the very end \Z.
    compiled = re.compile(regex.replace("\\z", "\\Z"))
    letters = sorted(set(pattern) - {"%", "\\"})[:3] + ["%", "\\", "\n"]
    texts = ["".join(given) for size in range(6) for given in itertools.product(letters, repeat=size)]
    chance = random.Random(5)
    for text in chance.sample(texts, min(len(texts), 400)) + ["🧵xé🧵x", "a.b[c](d"]:
        assert bool(compiled.search(text)) == like(pattern, text), text


@pytest.mark.parametrize("pattern, passed_on", [
    ("a" + "%" * 16 + "b", "a%b"), ("%%", "%"), ("a%%\\%%%", "a%\\%%"), ("\\%\\%%", "\\%\\%%"), ("a\\\\%%b", "a\\\\%b"), ("%\n%%", "%\n%"),
])
def test_several_wildcards_in_a_row_reach_spark_as_one(pattern: str, passed_on: str) -> None:
    found = FUNCTIONS["like"].build((Column("s", STRING), Literal(pattern, STRING)))
    assert found == FUNCTIONS["like"].build((Column("s", STRING), Literal(passed_on, STRING)))
    assert isinstance(found, Call) and found.arguments[1] == Literal(passed_on, STRING)


def test_like_with_many_wildcards_is_quick() -> None:
    pattern = "%" + "a%" * 15
    check_like(pattern)
    compiled = re.compile((like_regex(pattern) or "").replace("\\z", "\\Z"))
    start = time.process_time()
    assert not compiled.search("a" * 14 + "b" * 20_000)
    assert not compiled.search("ab" * 7 + "b" * 20_000)
    assert time.process_time() - start < 1


def test_a_long_replacement_is_read_in_one_pass() -> None:
    start = time.process_time()
    check_replacement("x" * 60_000 + "$1", 1)
    for wrong in ("x" * 60_000 + "$2", "x" * 60_000 + "$", "x" * 60_000 + "\\", "$1" * 30_000 + "$2"):
        with pytest.raises(SqlError):
            check_replacement(wrong, 1)
    assert time.process_time() - start < 2


def test_an_escaped_dollar_names_no_group() -> None:
    check_replacement("\\$3", 1)
    with pytest.raises(SqlError):
        check_replacement("\\\\$3", 1)
