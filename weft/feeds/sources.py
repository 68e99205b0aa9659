"""What a stream may read where the operator has named roots: nothing outside of them, by no spelling and no option.

Keeps: a source is a format that only reads files below its path, or a format that makes its rows up. Options are on an
allow-list: Spark hands every other option to Hadoop, where it may name a file system, a class or another folder.
A local path is judged by where it really leads (links and `..` followed, in either order), an address by scheme, host
and whole segments. What cannot be judged here (patterns, which Spark expands, and encoded characters) is refused.
Not kept: what somebody who may write into a source's folder links there, after this has looked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from weft.errors import StreamError
from weft.feeds.streams import MAX_PATH, Stream, check_text

_FILES = frozenset(
    """
    maxfilespertrigger maxbytespertrigger maxfileage maxcachedfiles discardcachedinputratio latestfirst filenameonly
    pathglobfilter recursivefilelookup ignoremissingfiles ignorecorruptfiles
""".split()
)
_TEXTS = _FILES | frozenset(
    """
    encoding charset linesep locale timezone mode columnnameofcorruptrecord dateformat timestampformat
    timestampntzformat enabledatetimeparsingfallback multiline
""".split()
)
# The options of each format, in lower case as Spark compares them. cleanSource and sourceArchiveDir move and delete
# files, avroSchemaUrl reads a file, and formats of tables keep addresses of files in files.
FILE_FORMATS: Mapping[str, frozenset[str]] = {
    "parquet": _FILES | {"mergeschema", "datetimerebasemode", "int96rebasemode"},
    "orc": _FILES | {"mergeschema"},
    "avro": _FILES | {"mode", "ignoreextension", "datetimerebasemode", "positionalfieldmatching"},
    "text": _FILES | {"wholetext", "linesep", "encoding"},
    "csv": _TEXTS
    | frozenset(
        """
        sep delimiter quote escape comment header inferschema enforceschema ignoreleadingwhitespace
        ignoretrailingwhitespace nullvalue emptyvalue nanvalue positiveinf negativeinf maxcolumns maxcharspercolumn
        chartoescapequoteescaping unescapedquotehandling preferdate
    """.split()
    ),
    "json": _TEXTS
    | frozenset(
        """
        primitivesasstring prefersdecimal allowcomments allowunquotedfieldnames allowsinglequotes
        allownumericleadingzeros allowbackslashescapinganycharacter allowunquotedcontrolchars allownonnumericnumbers
        dropfieldifallnull
    """.split()
    ),
}
MADE_UP: Mapping[str, frozenset[str]] = {
    "rate": frozenset({"rowspersecond", "rampuptime", "numpartitions"}),
    "rate-micro-batch": frozenset({"rowsperbatch", "numpartitions", "starttimestamp", "advancemillisperbatch"}),
}
FORMATS = {**FILE_FORMATS, **MADE_UP}

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_PATTERN = re.compile(r"[*?\[\]{}\\]")


@dataclass(frozen=True)
class Address:
    """Where files are: a real local path (no scheme), or scheme, host and segments."""

    scheme: str
    host: str
    segments: tuple[str, ...]

    def holds(self, other: Address) -> bool:
        """Whether the other address is this address or below it."""
        same = (self.scheme, self.host) == (other.scheme, other.host)
        return same and other.segments[: len(self.segments)] == self.segments


@dataclass(frozen=True)
class Roots:
    """The folders and addresses below which sources may lie; `of(None)` allows everything."""

    allowed: tuple[Address, ...] | None
    texts: tuple[str, ...] = ()

    @classmethod
    def of(cls, named: Iterable[str | os.PathLike[str]] | None) -> Roots:
        """Roots as the operator names them; a relative folder begins at the current folder."""
        if named is None:
            return cls(None)
        if isinstance(named, str | os.PathLike):
            # A text is a list of its letters, "/" among them, which would allow the whole disk.
            named = [named]
        roots = list(named) if isinstance(named, Iterable) else [named]
        if not all(isinstance(root, str | os.PathLike) for root in roots):
            raise StreamError("bad-source", "roots are no list of paths", hint='Write for example ["/data/in"].')
        texts = tuple(os.fspath(root) for root in roots)
        if not all(texts):
            # It would be the current folder, which nobody means who leaves it out.
            hint = "Write '.' for the current folder, or leave it out."
            raise StreamError("bad-source", "a root is empty", hint=hint)
        return cls(tuple(address(text) for text in texts), texts)

    def check(self, stream: Stream) -> None:
        """Refuse a stream's source that reads anything else; a stream that is a DataFrame is the caller's own."""
        if self.allowed is None or stream.source is None:
            return
        name, source, path = stream.name, stream.source, stream.path
        known = FORMATS.get(source.lower())
        if known is None:
            raise _outside(
                f"stream {name!r}: the source {source[:60]!r} is not one of those that are safe under roots",
                f"Use one of {', '.join(sorted(FORMATS))}, or hand over a DataFrame.",
            )
        for key in stream.options:
            if key.lower() not in known:
                near = get_close_matches(key.lower(), known, n=2)
                hint = f"Near names: {', '.join(near)}." if near else "docs/api.md says which options roots leave."
                raise _outside(f"stream {name!r}: the option {key[:60]!r} may reach outside of the roots", hint)
        if source.lower() in MADE_UP:
            if path is not None:
                raise _outside(f"stream {name!r}: the source {source!r} reads no path", "Leave the path out.")
            return
        if path is None:
            raise _outside(f"stream {name!r}: the source {source!r} has no path", "Name the folder that it reads.")
        self._check_path(name, path)

    def _check_path(self, name: str, path: str) -> None:
        assert self.allowed is not None
        source = address(path)
        if not any(root.holds(source) for root in self.allowed):
            where = ", ".join(self.texts) or "none"
            raise _outside(
                f"stream {name!r}: {path[:200]!r} is outside of the roots that its operator allows",
                f"Roots are: {where}. Put the files below one of them, or have the operator add a root.",
            )


def address(text: str) -> Address:
    """The address that a text names; a local path is followed to where it really leads.

    >>> address("s3a://bucket/a/b").segments
    ('a', 'b')
    >>> address("/proc/../etc").segments
    ('etc',)
    """
    check_text(text, "path", MAX_PATH)
    if _PATTERN.search(text):
        raise _outside(f"the path {text[:200]!r} is a pattern", "Name one folder, without * ? [ ] { } and \\.")
    scheme_and_rest = _SCHEME.fullmatch(text)
    if text.startswith("//"):
        # Hadoop reads //host/folder as an address without a scheme, where the disk reads /host/folder.
        raise _outside(f"the path {text[:200]!r} begins with //", "Begin it with one /.")
    if scheme_and_rest is None:
        return Address("", "", _followed(text))
    scheme, rest = scheme_and_rest[1].lower(), scheme_and_rest[2]
    if scheme == "file":
        local = rest.removeprefix("//") if rest.startswith("///") else rest
        if not local.startswith("/") or local.startswith("//") or "%" in local:
            raise _outside(f"the address {text[:200]!r} names no local path", "Write the path without file:.")
        return Address("", "", _followed(local))
    host, slash, below = rest.removeprefix("//").partition("/")
    segments = _segments(below)
    if not rest.startswith("//") or not host or re.search(r"[%?#@\s]", rest) or {".", ".."} & set(segments):
        hint = "Write scheme://host/folder, without user, '..', '?', '#' and encoded characters."
        raise _outside(f"the address {text[:200]!r} cannot be judged", hint)
    return Address(scheme, host.lower(), segments)


def _followed(path: str) -> tuple[str, ...]:
    """Where a local path really leads. Hadoop takes `..` back by text, before links are followed; a disk after that."""
    real = os.path.realpath(path)
    if real != os.path.realpath(os.path.normpath(path)):
        raise _outside(f"the path {path[:200]!r} goes back from where a link leads", "Name the folder without '..'.")
    return _segments(real)


def _segments(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


def _outside(message: str, hint: str) -> StreamError:
    return StreamError("source-outside-roots", message, hint=hint)
