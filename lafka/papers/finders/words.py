"""Texts and class names against the word lists of ``weights``, by dictionary and not by regex."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise

from lafka.papers.finders import weights
from lafka.papers.finders.rules import Words

_WORD = re.compile(r"[^\W_]+")
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
MAX_WORDS = 60
MAX_HEADING = 6  # words of a heading over links; longer ones are titles
SHORT_CJK = 24  # characters of a button; a longer text is a title


class Lexicon:
    """Phrases of up to four words -> the ``Words`` they belong to."""

    def __init__(self, lists: tuple[Words, ...]) -> None:
        self._phrases: dict[str, Words] = {}
        self._first: set[str] = set()
        for words in lists:
            for phrase in words.words:
                spelled = split(phrase)
                self._phrases.setdefault(" ".join(spelled), words)
                self._first.add(spelled[0])

    def find(self, words: list[str]) -> dict[str, Words]:
        """The lists that occur in *words*, by name."""
        return {hit.name: hit for _, _, hit in self.spans(words)}

    def spans(self, words: list[str]) -> Iterator[tuple[int, int, Words]]:
        """(start, end, list) of each phrase in *words*; longer ones hide the shorter in them."""
        skip = 0
        for start, word in enumerate(words[:MAX_WORDS]):
            if start < skip or word not in self._first:
                continue
            for length in range(min(4, len(words) - start), 0, -1):
                hit = self._phrases.get(" ".join(words[start : start + length]))
                if hit is not None:
                    skip = start + length
                    yield start, skip, hit
                    break


def split(text: str) -> list[str]:
    """The words of *text* in lower case."""
    return _WORD.findall(text.lower())


TEXT = Lexicon(weights.TEXT)
HEADINGS = Lexicon(weights.HEADINGS)
_SECTION_OF = {word: words for words in weights.SECTIONS for word in words.words}
# `article-header-footer` is a part of the article, not of the site.
_OF_PAPER = frozenset({"article", "abstract", "paper", "publication", "header", "content", "main"})
_OF_SITE = frozenset({"nav", "navigation", "menu", "footer", "foot", "banner", "masthead", "news"})
_OF_DOCUTILS = "reference external"  # its class of each link to another site: no references
_OF_DRUPAL = "entity-reference"  # its class of whatever is shown in a page
_OF_BOX = frozenset({"card", "modal", "panel", "entry", "box", "tile"})  # its foot has its buttons
_FILES = next(w for w in weights.HEADINGS if w.name == "under-files")
_PART = next(w for w in weights.TEXT if w.name == "says-part")
_OPEN = next(w for w in weights.TEXT if w.name == "says-open-file")
# Buttons that say no more; in longer texts they lead to lists and figures, or to anything.
_ALONE = frozenset({
    "view", "link", "open", "read", "access", "text", "file", "report", "study", "publication",
    "book", "monograph", "lire", "lesen", "leer", "ler", "leggi", "читать", "rapport", "bericht",
    "informe", "livre", "buch", "libro", "livro",
})  # fmt: skip
_CJK_LISTS = tuple(w for w in weights.TEXT if w.name.startswith("says-cjk-"))


@lru_cache(maxsize=8192)
def of_text(text: str) -> dict[str, Words]:
    """The word lists that *text* speaks of, by name; nobody changes what comes back."""
    said = split(text)
    is_alone = len(said) == 1 and said[0] in _ALONE
    found = {_OPEN.name: _OPEN} if is_alone else _carried(said)
    if not text.isascii() and _CJK.search(text):
        for words in _CJK_LISTS:
            if any(word in text for word in words.words):
                found[words.name] = words
        if any(word in text for word in weights.CJK_NEGATIVE):
            found = {n: w for n, w in found.items() if not n.startswith("says-cjk-")}
            if len(text) <= SHORT_CJK:
                found.setdefault(_PART.name, _PART)
        if "pdf" in text.lower():
            found.setdefault("says-pdf", weights.TEXT[0])
    return found


@lru_cache(maxsize=2048)
def untold(text: str) -> frozenset[str]:
    """The words of *text* that no list knows: the name of what a link leads to, or of a paper."""
    words = split(text)
    told = {n for start, end, _ in TEXT.spans(words) for n in range(start, end)}
    rest = (
        w
        for n, w in enumerate(words)
        if n not in told and w.isalpha() and len(w) > (1 if _CJK.match(w) else 3)
    )
    return frozenset(
        w for w in rest if not (w in weights.LITTLE or w in weights.FILE_WORDS or of_text(w))
    )


def _carried(words: list[str]) -> dict[str, Words]:
    """The lists in *words*, without those against it that are a word of a title and no button."""
    spans = [*TEXT.spans(words)]
    found = {hit.name: hit for _, _, hit in spans if hit.weight >= 0}
    against = [span for span in spans if span[2].weight < 0]
    if not against:
        return found
    covered = sum(end - start for start, end, _ in against)
    inside = {n for start, end, _ in against for n in range(start, end)}
    rest = [
        n for n, w in enumerate(words) if n not in inside and len(w) > 3 and w not in weights.LITTLE
    ]
    others = sum(words[n] not in weights.FILE_WORDS and words[n].isalpha() for n in rest)
    for start, end, hit in against:
        topic = end - start == 1 and words[start] in weights.TOPICS
        most = others < covered if topic else others <= max(covered, weights.BUTTON_REST)
        if most or (start == 0 and _opens(hit, words[end : end + 1])):
            found[hit.name] = hit
    return found


def _opens(hit: Words, after: list[str]) -> bool:
    """Return whether a long text that begins with *hit* names such a file: ``Figure 2: ...``."""
    return hit.name == "says-supplement" or any(word.isdigit() for word in after)


@lru_cache(maxsize=512)
def of_heading(text: str) -> tuple[Words, ...]:
    """Return what a heading says of the links under it; long headings are titles and say
    nothing, and one that speaks against them says nothing for them: ``Buy this article``.
    """
    words = split(text)
    if len(words) > MAX_HEADING:
        return ()
    found = HEADINGS.find(words)
    if not found and "says-download" in of_text(text):
        found = {_FILES.name: _FILES}  # as a button says it
    return tuple(w for w in found.values() if w.weight < 0) or tuple(found.values())


@lru_cache(maxsize=8192)
def of_section(tag: str, role: str, names: str) -> tuple[tuple[Words, ...], bool]:
    """(sections that an element with this class and id opens, whether it holds article tools)."""
    found, tools = _opened((tag, role.lower())), False
    if tag == "a":
        names = names.replace(_OF_DOCUTILS, "")
    for name in names.replace(_OF_DRUPAL, "").split()[:24]:
        hits, of_tools = _of_name(name)
        found.update(hits)
        tools = tools or of_tools
    return tuple(found.values()), tools


@lru_cache(maxsize=8192)
def _of_name(name: str) -> tuple[dict[str, Words], bool]:
    """The same for one class or id; nobody changes what comes back."""
    pieces = [p.lower() for p in _PIECE.findall(name)]
    if not _OF_PAPER.isdisjoint(pieces):
        pieces = [p for p in pieces if p not in _OF_SITE]
    elif not _OF_BOX.isdisjoint(pieces):
        pieces = [p for p in pieces if p not in ("footer", "foot")]
    spoken = [name.lower(), *pieces, *("-".join(pair) for pair in pairwise(pieces))]
    return _opened(spoken), not weights.TOOLS.isdisjoint(spoken)


def _opened(spoken: Iterable[str]) -> dict[str, Words]:
    hits = (_SECTION_OF.get(word) for word in spoken)
    return {hit.name: hit for hit in hits if hit is not None}
