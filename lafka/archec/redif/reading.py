"""The reader: bytes of a file -> its templates, whatever the bytes are.

It is tolerant by design: an archive must keep a template that one unknown field makes invalid.
What is odd is given as problems (``vocabulary.CODES``, docs/redif.md).
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

from lafka.archec.redif import handles, uris, vocabulary
from lafka.archec.redif.splitting import (
    LONGEST_TEMPLATE,
    Block,
    Readable,
    blocks,
    decoded,
    line_ends,
    lines_of,
)
from lafka.archec.redif.templates import LONGEST_KEPT, Template, disorder, plain_shape, shape
from lafka.archec.redif.vocabulary import JOINED, PROSE, TYPES, LineKind, Problem
from lafka.errors import BadHandle, BadUrl, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lafka.archec.redif.handles import Handle

MOST_PROBLEMS = 1_000
"""Of one file; the rest is counted."""


_LONGEST_NAME = 60
_TYPE = re.compile(r"(?:redif[-_ ]*)?([a-z]+)", re.IGNORECASE)
_NAMED = re.compile(r".*?type[ \t;=.]*", re.IGNORECASE)
_NO_COMMENT = re.compile(rb"(?:\A|(?<=[\r\n]))(?!#)[^\S\r\n]*\S")
_CONFLICT = re.compile(r"<{7} |>{7} |\|{7} |={7}\r?\Z")
_CONTROL = re.compile("[\0\x1a]")
_REPLACEMENT = re.compile("\ufffd")
_WITHOUT_HANDLE = "mirror"


class TemplateReader:
    """The templates of one file, read once from first to last.

    ``problems`` are those of the file outside its templates, and ``counts`` how often each code
    was met, told or not; both are whole when the iteration has ended.
    """

    def __init__(self, source: bytes | Readable, file: str = "") -> None:
        self.file = printable(file)
        self.problems: list[Problem] = []
        self.counts: Counter[str] = Counter()
        self._told = 0
        self._line = 1
        self._source = source

    def __iter__(self) -> Iterator[Template]:
        for block in blocks(self._source):
            if block.begun:
                yield self._template(block)
            else:
                self._before_the_first(block)
        if self._told > MOST_PROBLEMS:
            rest = f"{self._told - MOST_PROBLEMS} more problems"
            self.problems.append(Problem(file=self.file, line=0, code="not-told", sentence=rest))

    @property
    def is_told_whole(self) -> bool:
        """True where no problem was left out because there were so many."""
        return self._told <= MOST_PROBLEMS

    def _before_the_first(self, block: Block) -> None:
        self._line += line_ends(block.data) + block.cut_lines
        if held := _NO_COMMENT.search(block.data):
            line = 1 + line_ends(block.data[: held.start()])
            sentence = "text before the first template"
            self._told += 1
            self.counts["no-template"] += 1
            self.problems.append(
                Problem(file=self.file, line=line, code="no-template", sentence=sentence)
            )

    def _template(self, block: Block) -> Template:
        text, encoding = decoded(block.data)
        line = self._line
        parsed = _Parsing(block, text, line)
        self._line = line + parsed.ends + block.cut_lines
        handle = parsed.handle()
        parsed.look_at_files()
        return Template(
            type=parsed.type,
            data=block.data,
            offset=block.offset,
            encoding=encoding,
            handle=handle,
            problems=self._problems(parsed) if parsed.found else (),
            _columns=(parsed.names, parsed.values, parsed.numbers),
            _shape=parsed.shape,
        )

    def _problems(self, parsed: _Parsing) -> tuple[Problem, ...]:
        left = max(0, MOST_PROBLEMS - self._told)
        self.counts.update(parsed.codes)
        self._told += sum(parsed.codes.values())
        return tuple(
            Problem(file=self.file, line=line, code=code, sentence=printable(sentence))
            for line, code, sentence in sorted(parsed.found[:left])
        )


def read(source: bytes | Readable, file: str = "") -> TemplateReader:
    """The templates of a file, lazily; *file* is its name in problems.

    *source* is read in chunks; what its ``read`` raises goes through, and the template that was
    being read is not given. Nothing is raised on content.
    """
    return TemplateReader(source, file)


class _Found(NamedTuple):
    """A problem, before it is known whether it is told."""

    line: int
    code: str
    sentence: str


def _shown(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:80]}..."


def _opening(line: str) -> str:
    """Return what the first line of a template has behind the name of its field."""
    name, colon, value = line.partition(":")
    if colon:
        return value.strip()
    named = _NAMED.match(name)
    return name[named.end() :].strip() if named else ""


@lru_cache(maxsize=256)
def _type(value: str) -> str:
    """The type that a Template-Type says, in lower case; empty where it says none."""
    found = _TYPE.match(value)
    return found[1].lower() if found else ""


class _Parsing:
    """One block on its way to a template: its fields as three columns, and what is odd."""

    __slots__ = (
        "_line",
        "_more",
        "codes",
        "ends",
        "found",
        "names",
        "numbers",
        "shape",
        "type",
        "values",
    )

    def __init__(self, block: Block, text: str, line: int) -> None:
        self.found: list[_Found] = []
        self.codes: dict[str, int] = {}
        lines = lines_of(text)
        self.ends = len(lines) - 1
        value = _opening(lines[0])
        said = value or next(filter(None, map(str.strip, lines[1:])), "")
        self.type = _type(said[:_LONGEST_NAME])
        self.names: Sequence[str] = ("Template-Type",)
        self.values = [value]
        self.numbers: Sequence[int] = (line,)
        self._line = line
        self._report_block(block, text)
        if not self._read_plain(lines):
            self._read(lines)
        if not self.shape.in_order:
            self._report_order()

    def _report(self, line: int, code: str, sentence: str) -> None:
        self.codes[code] = self.codes.get(code, 0) + 1
        if len(self.found) < MOST_PROBLEMS:
            self.found.append(_Found(line, code, sentence))

    def _report_block(self, block: Block, text: str) -> None:
        if block.begun != "plain" or not block.whole or self.type not in TYPES:
            self._report_beginning(block, text)
        if 0 in block.data or 0x1A in block.data:  # as numbers, looked for ten times as fast
            self._report_characters(text, _CONTROL, "control-character")
        if not text.isascii() and "\ufffd" in text:
            self._report_characters(text, _REPLACEMENT, "replacement-character")

    def _report_beginning(self, block: Block, text: str) -> None:
        if block.begun == "glued":
            self._report(self._line, "glued-field", "no line end before Template-Type")
        elif block.begun == "meant":
            self._report(self._line, "misspelt-field", f"{_shown(text[:20].strip())!r}")
        if self.type not in TYPES:
            self._report(self._line, "unknown-type", f"{_shown(self.type) or 'nothing'} is no type")
        if not block.whole:
            self._report(self._line, "too-long", f"over {LONGEST_TEMPLATE} bytes")

    def _report_characters(self, text: str, which: re.Pattern[str], code: str) -> None:
        """One problem for all of them, at the first."""
        found = which.search(text)
        assert found
        line = self._line + len(lines_of(text[: found.start()])) - 1
        many = len(which.findall(text))
        times = f", {many} in the template" if many > 1 else ""
        self._report(line, code, f"U+{ord(found[0]):04X}{times}")

    def _read_plain(self, lines: list[str]) -> bool:
        """Make a field of each line; False, and nothing done, where one is none or a blank."""
        while len(lines) > 1 and not lines[-1].strip():
            lines.pop()
        # Without strict, which would be a seventieth of the reader's time.
        names, colons, values = zip(*map(str.partition, lines, repeat(":")), strict=False)
        if not all(colons) or len(lines) > LONGEST_KEPT:
            return False
        try:
            self.shape = plain_shape(self.type, names)
        except KeyError:
            return False
        self.names = self.shape.names
        self.values = list(map(str.strip, values))
        self.numbers = range(self._line, self._line + len(lines))
        return True

    def _read(self, lines: list[str]) -> None:
        """Make fields of the lines, some of which go on from one before, or are odd."""
        spellings = vocabulary.spellings(self.type)
        self._more: list[str] = []
        self.names = names = [*self.names]
        numbers = [self._line]
        for number, line in enumerate(lines[1:], self._line + 1):
            start, colon, rest = line.partition(":")
            name = spellings.get(start) if colon else None
            if not name and line and line[0] != "#":
                name = self._less_plain(line, number)
            if name:
                if self._more:
                    self._join()
                names.append(name)
                self.values.append(rest.strip())
                numbers.append(number)
        self._join()
        self.numbers, self.shape = numbers, shape(tuple(names))

    def _join(self) -> None:
        """Put the lines that go on to the value that they go on from."""
        between = "" if self.names[-1] in JOINED else " "
        self.values[-1] = between.join(filter(None, (self.values[-1], *self._more)))
        self._more = []

    def _less_plain(self, line: str, number: int) -> str | None:
        """The field that *line* begins, told where it is odd; None where a value goes on."""
        start, colon, _ = line.partition(":")
        if colon and line[0] not in " \t" and len(start) <= _LONGEST_NAME:
            name = vocabulary.judged(self.type, start)
            if name.verdict is LineKind.FIELD:
                vocabulary.learn(self.type, start, name.name)
                return name.name
            if self._begins(name, line, number):
                return name.name
        elif line[0] in "<>|=" and _CONFLICT.match(line):
            self._report(number, "conflict-marker", repr(_shown(line)))
            return None
        if stripped := line.strip():
            self._more.append(stripped)
        return None

    def _begins(self, name: vocabulary.Name, line: str, number: int) -> bool:
        """Return whether *line*, which is odd, begins a field; told."""
        verdict, known = name
        shown = repr(_shown(line.partition(":")[0]))
        within = self.names[-1]
        if verdict is LineKind.SPACED:
            self._report(number, "spaced-field", f"blanks behind {known}")
        elif verdict is LineKind.MISSPELT:
            self._report(number, "misspelt-field", f"{shown} for {known}")
        elif verdict is LineKind.FOREIGN:
            self._report(number, "unknown-field", f"{known} in a template of type {self.type}")
        elif verdict is LineKind.UNKNOWN:
            if within in PROSE:
                self._report(number, "unindented-line", f"{shown} within {within}")
                return False
            self._report(number, "unknown-field", shown)
            # What follows a colon at once may well be the rest of a URL or a handle.
            return within not in JOINED or line[len(known) + 1 :][:1] in ("", " ", "\t", "\r")
        return verdict not in (LineKind.URL, LineKind.NONE)

    def _report_order(self) -> None:
        for place, code, sentence in disorder(self.names):
            if code != "repeated-field" or self.values[place]:
                self._report(self.numbers[place], code, sentence)

    def handle(self) -> Handle | None:
        """The handle of the template; None, and told, where it has none."""
        given = [place for place in self.shape.of("Handle") if self.values[place]]
        if not given:
            if self.type != _WITHOUT_HANDLE:
                self._report(self._line, "no-handle", "no Handle, or an empty one")
            return None
        for other in given[1:]:
            self._report(self.numbers[other], "repeated-handle", _shown(self.values[other]))
        try:
            return handles.parse(self.values[given[0]])
        except BadHandle as error:
            self._report(self.numbers[given[0]], "bad-handle", str(error))
            return None

    def look_at_files(self) -> None:
        """Tell of each File-URL that cannot be asked for."""
        for cluster in self.shape.files:
            value = self.values[cluster.url]
            if not value or uris.is_normal(value):
                continue
            try:
                uris.file_uris(value)
            except BadUrl as error:
                self._report(self.numbers[cluster.url], "bad-uri", f"{_shown(value)!r}: {error}")
