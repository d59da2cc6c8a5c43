"""The texts of two versions of a paper, compared sentence by sentence.

PDFs are read and compared in a child process with bounds: no PDF stops the server. Words that are
only broken at other lines are the same words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from importlib.util import find_spec
from threading import BoundedSemaphore
from typing import Any

from lafka.errors import OperatorError
from lafka.papers import read_text
from lafka.storage import children
from lafka.storage.children import ChildDied, Children

MODULE = "lafka.web.comparison"
CPU_SECONDS = 10
COUNT = 2
"""Children that compare; who comes while all of them work is answered 503."""
LONGEST = 64 << 20
"""Bytes of a PDF that is read."""
SHOWN_MAX = 1 << 20
"""Characters of changes that are shown."""
ALIKE = 0.5
"""Sentences that share less than this are shown whole, one after the other."""
_WORDS_MAX = 2_000
_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")
_SOFT = re.compile("[\u00ad\ufffe\x02]\\s*")
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010]\s*(?=[^\W\d_])")

Part = tuple[str, str]
"""``same``, ``gone`` or ``new``, and the text."""
Code = tuple[str, int, int, int, int]
"""An operation as difflib has it: its kind, and from where to where it goes in old and new."""


class Uncompared(OperatorError):
    """Two texts that cannot be compared now, or in the time that there is: HTTP 503."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A stretch of text that differs, with the sentences around it, behind *skipped* others."""

    skipped: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Changes in their order; *rest* sentences behind the last are the same, *left_out* changes
    are not shown. *problem*: why there is no comparison, else empty.
    """

    changes: tuple[Change, ...] = ()
    rest: int = 0
    left_out: int = 0
    problem: str = ""


class Comparer:
    """Children that compare texts."""

    def __init__(self) -> None:
        self._children = Children(MODULE, COUNT)
        self._free = BoundedSemaphore(COUNT)

    def compare(self, old: bytes, new: bytes) -> Comparison:
        """Return how the texts of two PDFs differ; ``Uncompared``, ``MachineTrouble``."""
        if find_spec("pypdfium2") is None:
            return Comparison(problem="Texts are not compared here: this server has no pypdfium2.")
        if max(len(old), len(new)) > LONGEST:
            return Comparison(problem=f"Texts of over {LONGEST >> 20} MiB are not compared here.")
        if not self._free.acquire(blocking=False):
            raise Uncompared("too many texts are compared at once: come again")
        try:
            found = self._children.ask("compare", {"old": len(old)}, old + new, seconds=CPU_SECONDS)
        except ChildDied as error:
            raise Uncompared(f"these texts cannot be compared: {error}") from None
        finally:
            self._free.release()
        changes = (Change(skipped=skipped, parts=tuple((kind, text) for kind, text in parts))
                   for skipped, parts in found.pop("changes", ()))  # fmt: skip
        return Comparison(changes=tuple(changes), **found)


# In the child -----------------------------------------------------------------------------


def serve() -> None:
    """Compare texts until standard input ends. Runs in the child."""
    children.serve({"compare": _compare})


def _compare(question: dict[str, Any], data: bytes) -> dict[str, Any]:
    length = question["old"]
    old, new = (read_text(pdf)["text"] for pdf in (data[:length], data[length:]))
    for name, text in (("older", old), ("newer", new)):
        if not text:
            return {"problem": f"No text can be read from the {name} version; it may be a scan."}
    return compared(sentences(old), sentences(new))


def sentences(text: str) -> list[str]:
    """Split *text* into sentences, each on one line."""
    parts = _END.split(_SOFT.sub("", text))
    return [" ".join(part.split()) for part in parts if part.strip()]


def compared(old: Sequence[str], new: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a ``Comparison`` of two texts in sentences."""
    matcher = SequenceMatcher(None, _keys(old), _keys(new))
    changes: list[tuple[int, list[Part]]] = []
    end, shown, left_out = 0, 0, 0
    for group in matcher.get_grouped_opcodes(1):
        if shown > SHOWN_MAX:
            left_out += 1
            continue
        parts = [part for code in group for part in _parts(code, old, new)]
        shown += sum(len(text) for _, text in parts)
        changes.append((group[0][1] - end, parts))
        end = group[-1][2]
    return {"changes": changes, "rest": 0 if left_out else len(old) - end, "left_out": left_out}


def _parts(code: Code, old: Sequence[str], new: Sequence[str]) -> Iterator[Part]:
    """Yield what one operation keeps, takes away and adds; of replaced sentences by words."""
    kind, begin, end, new_begin, new_end = code
    if kind == "replace":
        words = " ".join(old[begin:end]).split()
        new_words = " ".join(new[new_begin:new_end]).split()
        if max(len(words), len(new_words)) <= _WORDS_MAX:
            matcher = SequenceMatcher(None, _keys(words), _keys(new_words), autojunk=False)
            if matcher.ratio() >= ALIKE:
                for word_code in matcher.get_opcodes():
                    yield from _whole(word_code, words, new_words)
                return
    yield from _whole(code, old, new)


def _whole(code: Code, old: Sequence[str], new: Sequence[str]) -> Iterator[Part]:
    kind, begin, end, new_begin, new_end = code
    gone, added = " ".join(old[begin:end]), " ".join(new[new_begin:new_end])
    if kind == "equal":
        yield "same", added
    else:
        yield from (part for part in (("gone", gone), ("new", added)) if part[1])


def _keys(texts: Sequence[str]) -> list[str]:
    """Return what is compared of *texts*: words without the hyphens at which lines break."""
    return [_HYPHEN.sub("", text) for text in texts]
