"""The reader: bytes of a file -> its templates, whatever the bytes are.

It is tolerant by design: an archive must keep a template that one unknown field makes invalid.
What is odd is told as problems (``archec.problems``, docs/redif.md).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from lafka.archec import handles, uris
from lafka.archec.problems import Problem
from lafka.archec.redif.decoding import decoded, with_line_feeds
from lafka.archec.redif.splitting import LONGEST_TEMPLATE, Block, Readable, blocks
from lafka.archec.redif.templates import Field, File, Template, restricting, size_in_bytes
from lafka.archec.redif.vocabulary import (
    JOINED,
    PLACES,
    PROSE,
    SINGLE,
    TYPES,
    Name,
    Verdict,
    judged,
)
from lafka.errors import BadHandle, BadUrl, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lafka.archec.handles import Handle
    from lafka.archec.uris import FileUri

MOST_PROBLEMS = 1_000
"""Of one file; the rest is counted."""

_TYPES = frozenset(TYPES)
_FIELD = Verdict.FIELD
_LONGEST_NAME = 60
_OF_FILES = frozenset(("File-Format", "File-Function", "File-Size", "File-Restriction"))
_ONCE = SINGLE | _OF_FILES
_TYPE = re.compile(r"(?:redif[-_ ]*)?([a-z]+)", re.IGNORECASE)
_NAMED = re.compile(r".*?type[ \t;=.]*", re.IGNORECASE)
_CONFLICT = re.compile(r"<{7} |>{7} |\|{7} |={7}\Z")
_CONTROLS = bytes({*range(0x20), 0x7F} - set(b"\t\n\r"))
_CONTROL = re.compile("[" + re.escape(_CONTROLS.decode()) + "]")
_REPLACEMENT = re.compile("\ufffd")
_WITHOUT_HANDLE = "mirror"


class Reader:
    """The templates of one file, read once from first to last.

    ``problems`` are those of the file outside its templates, and ``counts`` how often each code
    was met, told or not; both are whole when the iteration has ended.
    """

    def __init__(self, source: bytes | Readable, file: str = "") -> None:
        self.file = printable(file)
        self.problems: list[Problem] = []
        self.counts: Counter[str] = Counter()
        self._told = 0
        self._source = source

    def __iter__(self) -> Iterator[Template]:
        for block in blocks(self._source):
            if block.begun:
                yield self._template(block)
            elif _holds_anything(block.data):
                self._tell_outside(block.line, "no-template", "text before the first template")
        if self._told > MOST_PROBLEMS:
            rest = f"{self._told - MOST_PROBLEMS} more problems"
            self.problems.append(Problem(file=self.file, line=0, code="not-told", sentence=rest))

    def _tell_outside(self, line: int, code: str, sentence: str) -> None:
        self._told += 1
        self.counts[code] += 1
        self.problems.append(Problem(file=self.file, line=line, code=code, sentence=sentence))

    def _template(self, block: Block) -> Template:
        text, encoding = decoded(block.data)
        parsed = _Parsing(block, with_line_feeds(text))
        handle = parsed.handle()
        files = tuple(parsed.files())
        return Template(
            type=parsed.type,
            fields=tuple(parsed.fields),
            data=block.data,
            offset=block.offset,
            line=block.line,
            encoding=encoding,
            handle=handle,
            problems=self._problems(parsed.found) if parsed.found else (),
            _files=files,
        )

    def _problems(self, found: list[_Found]) -> tuple[Problem, ...]:
        self.counts.update(problem.code for problem in found)
        left = max(0, MOST_PROBLEMS - self._told)
        self._told += len(found)
        return tuple(
            Problem(file=self.file, line=line, code=code, sentence=printable(sentence))
            for line, code, sentence in sorted(found[:left])
        )


def read(source: bytes | Readable, file: str = "") -> Reader:
    """The templates of a file, lazily; *file* is its name in problems.

    *source* is read in chunks; what its ``read`` raises goes through, and the template that was
    being read is not given. Nothing is raised on content.
    """
    return Reader(source, file)


class _Found(NamedTuple):
    """A problem, before it is known whether it is told."""

    line: int
    code: str
    sentence: str


def _holds_anything(data: bytes) -> bool:
    """Whether there is anything but blank lines and comments."""
    lines = re.split(rb"[\r\n]+", data)
    return any(line.strip() and not line.startswith(b"#") for line in lines)


def _shown(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:80]}..."


def _opening(line: str) -> str:
    """What the first line of a template has behind its first field's name."""
    name, colon, value = line.partition(":")
    return value.strip() if colon else _NAMED.sub("", name).strip()


def _type(lines: list[str]) -> str:
    """The type that the first line with a value says; empty where none does."""
    value = next(filter(None, (_opening(lines[0]), *map(str.strip, lines[1:]))), "")
    found = _TYPE.match(value)
    return found[1].lower() if found else ""


class _Parsing:
    """One block on its way to a template."""

    def __init__(self, block: Block, text: str) -> None:
        self.fields: list[Field] = []
        self.found: list[_Found] = []
        self._line = block.line
        lines = text.split("\n")
        self.type = _type(lines)
        self._tell_of_block(block, text)
        self._read(lines)
        self._look_at_order()

    def _tell(self, line: int, code: str, sentence: str) -> None:
        self.found.append(_Found(line, code, sentence))

    def _tell_of_block(self, block: Block, text: str) -> None:
        if block.begun == "glued":
            self._tell(self._line, "glued-field", "no line end before Template-Type")
        elif block.begun == "meant":
            self._tell(self._line, "misspelt-field", f"{_shown(text[:20].strip())!r}")
        if self.type not in _TYPES:
            self._tell(self._line, "unknown-type", f"{_shown(self.type) or 'nothing'} is no type")
        if not block.whole:
            self._tell(self._line, "too-long", f"over {LONGEST_TEMPLATE} bytes")
        if len(block.data.translate(None, _CONTROLS)) != len(block.data):
            self._tell_of_characters(text, _CONTROL, "control-character")
        if not text.isascii() and "\ufffd" in text:
            self._tell_of_characters(text, _REPLACEMENT, "replacement-character")

    def _tell_of_characters(self, text: str, which: re.Pattern[str], code: str) -> None:
        """One problem for all of them, at the first."""
        found = which.search(text)
        assert found
        line = self._line + text.count("\n", 0, found.start())
        many = len(which.findall(text))
        times = f", {many} in the template" if many > 1 else ""
        self._tell(line, code, f"U+{ord(found[0]):04X}{times}")

    def _read(self, lines: list[str]) -> None:
        """Make fields of the lines."""
        kind, fields, number = self.type, self.fields, self._line
        name, value, begun = "Template-Type", _opening(lines[0]), number
        more: list[str] = []
        for line in lines[1:]:
            number += 1
            first = line[:1]
            if first == "#" or not first:
                continue
            start, colon, rest = line.partition(":")
            if colon and first not in " \t" and len(start) <= _LONGEST_NAME:
                verdict, known = judged(kind, start)
                if verdict is _FIELD or self._begins(name, Name(verdict, known), line, number):
                    fields.append(Field(name, _joined(name, value, more) if more else value, begun))
                    name, value, begun, more = known, rest.strip(), number, []
                    continue
            elif first in "<>|=" and _CONFLICT.match(line):
                self._tell(number, "conflict-marker", repr(_shown(line)))
                continue
            if stripped := line.strip():
                more.append(stripped)
        fields.append(Field(name, _joined(name, value, more), begun))

    def _begins(self, within: str, name: Name, line: str, number: int) -> bool:
        """Whether *line*, which may be odd, begins a field; told where it is odd."""
        verdict, known = name
        shown = repr(_shown(line.partition(":")[0]))
        if verdict is Verdict.SPACED:
            self._tell(number, "spaced-field", f"blanks behind {known}")
        elif verdict is Verdict.MISSPELT:
            self._tell(number, "misspelt-field", f"{shown} for {known}")
        elif verdict is Verdict.FOREIGN:
            self._tell(number, "unknown-field", f"{known} in a template of type {self.type}")
        elif verdict is Verdict.UNKNOWN:
            if within in PROSE:
                self._tell(number, "unindented-line", f"{shown} within {within}")
                return False
            self._tell(number, "unknown-field", shown)
            # What follows a colon at once may well be the rest of a URL or a handle.
            return within not in JOINED or line[len(known) + 1 :][:1] in ("", " ", "\t")
        return verdict not in (Verdict.URL, Verdict.NONE)

    def _look_at_order(self) -> None:
        """Tell of fields that stand too often, or outside the cluster they are of."""
        opened: set[str] = set()
        seen: set[str] = set()
        for name, value, line in self.fields:
            if place := PLACES.get(name):
                prefix = place.prefix
                if place.opens:
                    opened.add(prefix)
                    opened.discard(f"{prefix}-Workplace")
                    if prefix == "File":
                        seen -= _OF_FILES
                    continue
                if prefix not in opened:
                    self._tell(line, "stray-cluster-field", f"{name} before any {prefix} key field")
            if name in _ONCE:
                if name in seen and value:
                    self._tell(line, "repeated-field", name)
                seen.add(name)

    def handle(self) -> Handle | None:
        """The handle of the template; None, and told, where it has none."""
        given = [found for found in self.fields if found.name == "Handle" and found.value]
        if not given:
            if self.type != _WITHOUT_HANDLE:
                self._tell(self._line, "no-handle", f"a template of type {self.type or 'none'}")
            return None
        for other in given[1:]:
            self._tell(other.line, "repeated-handle", _shown(other.value))
        try:
            return handles.parse(given[0].value)
        except BadHandle as error:
            self._tell(given[0].line, "bad-handle", str(error))
            return None

    def files(self) -> Iterator[File]:
        """What the template says of files; of a File-URL that cannot be asked for it is told."""
        clusters: list[list[Field]] = []
        own = ""
        for found in self.fields:
            if found.name == "File-URL":
                clusters.append([found])
            elif clusters and found.name in _OF_FILES:
                clusters[-1].append(found)
            elif found.name == "Restriction":
                own = own or found.value
        for n, cluster in enumerate(clusters, 1):
            yield self._file(n, cluster, own)

    def _file(self, n: int, cluster: list[Field], restriction: str) -> File:
        values = {found.name: found.value for found in reversed(cluster) if found.value}
        key = cluster[0]
        said = values.get("File-Restriction", restriction)
        restricted = restricting(said)
        return File(
            n=n,
            url=key.value,
            uris=self._uris(key) if key.value else (),
            line=key.line,
            format=values.get("File-Format"),
            function=values.get("File-Function"),
            size=size_in_bytes(values.get("File-Size", "")),
            restriction=restricted,
            free=bool(said) and not restricted,
        )

    def _uris(self, key: Field) -> tuple[FileUri, ...]:
        try:
            return uris.file_uris(key.value)
        except BadUrl as error:
            self._tell(key.line, "bad-uri", f"{_shown(key.value)!r}: {error}")
            return ()


def _joined(name: str, value: str, more: list[str]) -> str:
    return ("" if name in JOINED else " ").join(filter(None, (value, *more)))
