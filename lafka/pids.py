"""Pids, and the functions pid -> path of the schemes, each with its inverse.

A path is relative, has four components joined by ``/`` and no suffix: ``RePEc/pra/mprapa/58120``
below ``warc/`` and ``suwaf/`` of an archive. Requirement paper, section 3.

A component is UTF-8 in which ``a-z 0-9 - _ . ! ~ ' ( )`` stand for themselves and every other
byte is ``%XX``. Upper-case letters are escaped too, so no two pids share a path on a disk that
is blind to case or to Unicode normalisation. What has no inverse (a component longer than 200
bytes, which is cut) shows it by ``%%``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import unquote, unquote_to_bytes

from lafka.errors import BadPid

LONGEST_PID = 8 << 10
"""Bytes of UTF-8: a pid stands in lines of WARCs, which are short of 64 KiB everywhere."""
LONGEST_COMPONENT = 200
_CUT_TO = LONGEST_COMPONENT - len("%%") - 32

# str.isspace and \s agree; Cc is 00-1F and 7F-9F; a lone surrogate has no UTF-8.
_REFUSED = re.compile("[\\s\x00-\x1f\x7f-\x9f\ufeff\ufffd\ud800-\udfff]")

_KEPT = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_.!~'()")
_ESCAPES = tuple(chr(byte) if byte in _KEPT else f"%{byte:02X}" for byte in range(256))
_ESCAPED = r"(?:[a-z0-9\-_.!~'()]|%[0-9A-F]{2})+"
_WHOLE_NAME = re.compile(_ESCAPED)
_CUT_NAME = re.compile(rf"(?={_ESCAPED}%%)(?P<head>.{{{_CUT_TO - 2},{_CUT_TO}}})%%[0-9a-f]{{32}}")
_HEX_FOLDER = re.compile(r"[0-9a-f]{2}")

# Hidden files, home folders of shells, and the devices of DOS, which are devices in every
# folder and before every suffix: https://learn.microsoft.com/windows/win32/fileio/naming-a-file
_UNSAFE_START = re.compile(r"[.~]|(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\.|\Z)")

# What needs no escape and no second look, as nearly all components do.
_PLAIN_NAME = re.compile(
    r"(?!(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\.|\Z))"
    r"[a-z0-9\-_!'()](?:[a-z0-9\-_.!~'()]{0,198}[a-z0-9\-_!~'()])?"
)

_DOI_LEAD = re.compile(
    r"(?:doi: *)?(?P<resolver>(?:https?://)?(?:dx\.|www\.)?doi\.org/)?", re.IGNORECASE
)
_DOI_NAME = re.compile(r"10\.[0-9][0-9.]*/.+", re.DOTALL)

# Identifier schemes that have colons of their own and are not Socionet's, though they may come
# in a Socionet list. `any` is here because its folder is taken.
_NOT_SOCIONET = re.compile(
    r"any|ark|arxiv|doi|handle|hdl|https?|info|isbn|issn|oai|pmc|pmcid|pmid|swh|urn|uuid"
)

# What is its own canonical form and needs no escape, as nearly all handles of RePEc are and do.
_PLAIN_REPEC = re.compile(
    r"RePEc(?::(?!(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:[.:]|\Z))"
    r"[a-z0-9\-_!'()][a-z0-9\-_.!~'()]{0,199}+(?<!\.)){3}"
)

# What is its own canonical form, whatever its path: archive and series in lower case, the number
# any printable ASCII, and all short enough.
_CANONICAL_REPEC = re.compile(r"RePEc:[a-z0-9\-_]{1,99}:[a-z0-9\-_]{1,99}:[!-~]{1,999}")

# The key of a suwaf that is no pid.
_RESERVED = "_warc"


# Not frozen: to set a field of a frozen one costs twice as much, and lists have millions of them.
@dataclass(slots=True, kw_only=True, order=True, unsafe_hash=True)
class Pid:
    """The identifier of a paper, canonical in its scheme; made by ``Scheme.pid``.

    ``path`` is relative, four escaped components joined by ``/``, no suffix.
    """

    text: str
    path: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """A family of pids with one function pid -> path and its inverse."""

    name: str
    parse: Callable[[str], Pid]
    plain: re.Pattern[str] | None = None
    """What is its own canonical form, whose parts are those of its path."""
    canonical: re.Pattern[str] | None = None
    """What is its own canonical form."""

    def text(self, text: str) -> str:
        """The text of the canonical pid that *text* means; BadPid, as :meth:`pid`."""
        if self.canonical and self.canonical.fullmatch(text):
            return text
        return self.pid(text).text

    def plain_pid(self, text: str) -> Pid | None:
        """The pid *text* where it is canonical and its parts are those of its path; else None."""
        if self.plain and self.plain.fullmatch(text):
            return Pid(text=text, path=text.replace(":", "/"))
        return None

    def pid(self, text: str) -> Pid:
        """The canonical pid that *text* means; BadPid, with the reason, where it means none."""
        if plain := self.plain_pid(text):
            return plain
        pid = self.parse(text)
        if not pid.text:
            raise BadPid("an empty pid")
        if refused := _REFUSED.search(pid.text):
            raise _bad(text, f"U+{ord(refused[0]):04X} cannot stand in a pid")
        if pid.text == _RESERVED:
            raise _bad(text, "reserved, it names no paper")
        if len(pid.text.encode()) > LONGEST_PID:
            raise _bad(text, f"a pid of over {LONGEST_PID} bytes")
        return pid

    def path(self, pid: Pid) -> str:
        """The path of *pid* in this scheme."""
        return self.pid(pid.text).path

    def inverse(self, path: str) -> Pid | None:
        """The pid whose path this is.

        None where a component was cut: then the path has the form of one of this scheme,
        but the pid must be read from the suwaf. BadPid where no pid has that path.
        """
        plain = path.replace("/", ":")
        if self.plain and self.plain.fullmatch(plain):
            return Pid(text=plain, path=path)
        names = path.split("/")
        if len(names) != 4:
            raise _bad(path, "the path of a pid has four components")
        if any(_CUT_NAME.fullmatch(name) for name in names):
            self._check_around_cuts(path, names)
            return None
        texts = [names[0], *(_unescaped(path, name) for name in names[1:])]
        if names[0] not in ("RePEc", "any"):
            texts[0] = _unescaped(path, names[0])
        pid = self.pid(texts[3] if names[0] == "any" else ":".join(texts))
        if pid.path != path:
            raise _bad(path, f"not the path of {_shown(pid.text)}, that is {pid.path}")
        return pid

    def _check_around_cuts(self, path: str, names: Sequence[str]) -> None:
        """BadPid unless some pid could have *names*, of which at least one is cut."""
        if names[0] == "any":
            if not all(_HEX_FOLDER.fullmatch(name) for name in names[1:3]):
                raise _bad(path, "no folders of two hex digits below any")
            return
        if self.inverse("/".join("x" if _CUT_NAME.fullmatch(name) else name for name in names)):
            return


def _shown(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}..."


def _bad(text: str, reason: str) -> BadPid:
    return BadPid(f"{_shown(text)}: {reason}")


def _encoded(text: str) -> bytes:
    # A lone surrogate is refused with its reason in Scheme.pid, after the path was made.
    return text.encode("utf-8", "surrogatepass")


def component(text: str, *, folder: bool = True) -> str:
    """*text* as one part of a path, at most 200 characters, that every disk takes.

    Of another text it is another; what was cut to be short enough shows it by ``%%``.
    """
    if _PLAIN_NAME.fullmatch(text):
        return text
    name = "".join(map(_ESCAPES.__getitem__, _encoded(text)))
    if _UNSAFE_START.match(name):
        name = f"%{ord(name[0]):02X}{name[1:]}"
    if folder and name.endswith("."):
        name = f"{name[:-1]}%2E"
    return name if len(name) <= LONGEST_COMPONENT else _cut(name, text)


def _cut(name: str, text: str) -> str:
    head = name[:_CUT_TO]
    if "%" in head[-2:]:
        head = head[: head.rindex("%")]
    return f"{head}%%{sha256(_encoded(text)).hexdigest()[:32]}"


def _unescaped(path: str, name: str) -> str:
    if not _WHOLE_NAME.fullmatch(name):
        raise _bad(path, "not the path of a pid")
    try:
        return unquote_to_bytes(name).decode()
    except UnicodeDecodeError:
        raise _bad(path, "escapes that are no UTF-8") from None


def _by_parts(*parts: str) -> Pid:
    *folders, number = parts
    first = "RePEc" if folders[0] == "RePEc" else component(folders[0])
    names = [first, *map(component, folders[1:]), component(number, folder=False)]
    return Pid(text=":".join(parts), path="/".join(names))


def _by_hash(text: str) -> Pid:
    digits = sha256(_encoded(text)).hexdigest()
    name = component(text, folder=False)
    return Pid(text=text, path=f"any/{digits[:2]}/{digits[2:4]}/{name}")


def _four_parts(text: str) -> tuple[str, str, str, str]:
    """Split on the first three colons, never by columns: real codes are of any length."""
    parts = text.split(":", 3)
    if len(parts) < 4:
        raise _bad(text, "fewer than four parts")
    if not all(parts):
        raise _bad(text, "an empty part")
    prefix, archive, series, number = parts
    return prefix, archive, series, number


def _doi(text: str) -> str | None:
    """The canonical form of a DOI, which is blind to case (DOI Handbook 2.4); else None."""
    lead = _DOI_LEAD.match(text)
    assert lead
    name = text[lead.end() :]
    if lead["resolver"]:
        try:
            name = unquote(name, errors="strict")
        except UnicodeDecodeError:
            raise _bad(text, "escapes that are no UTF-8") from None
    return f"doi:{name.lower()}" if _DOI_NAME.fullmatch(name) else None


def _any(text: str) -> Pid:
    return _by_hash(_doi(text) or text)


def _repec(text: str) -> Pid:
    if text.partition(":")[0].lower() != "repec":
        return _any(text)
    _, archive, series, number = _four_parts(text)
    return _by_parts("RePEc", archive.lower(), series.lower(), number)


def _socionet(text: str) -> Pid:
    prefix = text.partition(":")[0].lower()
    if _NOT_SOCIONET.fullmatch(prefix) or "://" in text or _doi(text):
        return _any(text)
    prefix, archive, series, number = _four_parts(text.lower())
    return _by_parts("RePEc" if prefix == "repec" else prefix, archive, series, number)


SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme(name="RePEc", parse=_repec, plain=_PLAIN_REPEC, canonical=_CANONICAL_REPEC),
        Scheme(name="Socionet", parse=_socionet),
        Scheme(name="any", parse=_any),
    )
}
"""By name, which users know as the archive's collection (``LAFKA_COLLECTION``): one row each."""
