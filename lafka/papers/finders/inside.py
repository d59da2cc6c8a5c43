"""The front of a PDF, judged by its text: is it the paper that the splap is about?

``evidence`` says what the first two pages tell: the paper's title stands there, or they are another
paper, a CV, slides, a poster, a form, a supplement, a schedule, a cover sheet and no more, a few
words; or nothing, where they have no text, or too little to say. Pure; ``crawling.captures`` reads
PDFs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from html import unescape
from itertools import pairwise, zip_longest
from statistics import median

from lafka.papers.finders.fronts import (
    ABOUT,
    CONTENTS,
    COVER,
    CV_CORE,
    CV_HEADING,
    CV_RUN_IN,
    DEGREE,
    FORM,
    FORM_TITLE,
    HOUSE,
    LANGUAGES,
    OTHERS_LISTED,
    PAPER_BEGINS,
    SUPPLEMENT,
)

TITLE, ANOTHER, COVER_ONLY = "title", "another", "cover"
CV, SLIDES, POSTER, FORM_SHEET = "cv", "slides", "poster", "form"
SUPPLEMENTARY, SCHEDULE, FRAGMENT = "supplement", "schedule", "fragment"

CV_NAMES = ("cv", "vita", "lebenslauf")
RESUME = "resume"  # a CV, or a French abstract
MAX_HEADING = 60  # letters of a heading of a CV
FEW_IN_ALL = 60  # words of one page: a figure, a sample, a promise
POSTER_SIDE = 820  # points; A3 has 842 and 1191
MIN_TIMES = 8  # lines that begin with a time of day
MIN_PAGES = 3  # a PDF of fewer that has the title may be a preview or a summary
MIN_LETTERS = 40  # fewer are no text: a scan, with a stamp perhaps
MIN_KEY = 12  # letters of a title that may be looked for anywhere
MIN_PART = 20  # ... of a title without its subtitle
MIN_WORDS = 3  # telling words of a title that another paper is told by
FEW_WORDS = 0.34  # the share of a title's words that another paper may have, too
MIN_SMALL = 5  # different small words of a language that a text is of
ALIKE = 0.86  # of a heading and a title that differ by a formula or a misread letter
WINDOW = 5  # lines that a title may run over
TOP = 40  # lines of a page among which a title is looked for
LARGER = 1.15  # than the body, as headings are
AS_TITLES = 1.3  # than the body; authors are 1.2
FEW = 150  # words of a slide, at most
SMALL_SIDE = 460  # points; slides of LaTeX are 363 or 454 wide
SPREAD_SIDE = 780  # points; two pages of letter are 1224 wide and 792 high
SLIDE_TYPE = 0.024  # height of a slide's letters as a share of its page's
_TAGS = re.compile(r"<[^<>]{1,40}>|\$")
_YEAR_AT_END = re.compile(r"\s*\((?:19|20)\d\d\)$")
_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufefc]")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_TOKEN = re.compile(f"{_CJK.pattern}|[^\\W_]+")
_CITED = re.compile(r"[\W_]*[,.\u201d\"(].{0,60}?(?:\b(?:19|20)\d\d\b|\bvol\b|\bpp?\.)")
_DIGITS = re.compile(r"\d+|\b[ivx]+\b")
_TIME = re.compile(r"\s*\d{1,2} ?[:h] ?\d\d\b")
_BLANKS = re.compile(r"_{5,}|\.{12,}|[\u2610\u25a1\u2751]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of text; ``height`` is that of its letters, in points."""

    text: str
    height: float


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A page of a PDF, in points; its lines in the order of reading."""

    width: float
    height: float
    lines: tuple[Line, ...]

    @cached_property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @cached_property
    def keys(self) -> list[str]:
        """The letters and digits of each line, as ``_key`` spells them."""
        return [_key(line.text) for line in self.lines]

    @cached_property
    def words(self) -> list[str]:
        return _tokens(self.text)


@dataclass(frozen=True, kw_only=True)
class Front:
    """The first pages of a PDF of ``count`` pages; ``fillable``: it has fields to fill in;
    ``pictured``: what may be a picture of a text is on them.
    """

    sheets: tuple[Sheet, ...]
    count: int
    fillable: bool = False
    pictured: bool = False

    @cached_property
    def words(self) -> list[str]:
        return [word for sheet in self.sheets for word in sheet.words]

    @cached_property
    def lines(self) -> list[str]:
        return [line.text for sheet in self.sheets for line in sheet.lines]

    @cached_property
    def keys(self) -> list[str]:
        return [key for sheet in self.sheets for key in sheet.keys]

    @cached_property
    def body(self) -> float:
        """The height of the letters of most of the text."""
        heights = [line.height for s in self.sheets for line in s.lines for _ in _tokens(line.text)]
        return median(heights) if heights else 0.0


def evidence(front: Front, titles: Iterable[str], headings: Iterable[str] = ()) -> str:
    """Return what the front of a PDF says of a paper that has one of *titles*; empty: nothing.

    One of *headings* may be its title, too: it is where it stands before an abstract, keywords or
    an introduction, and says nothing where it does not.
    """
    known = [*dict.fromkeys(filter(None, map(cleaned, titles)))]
    if known and _is_fragment(front) and not _bears(front, known):
        return FRAGMENT
    if sum(map(len, front.words)) < MIN_LETTERS:
        return ""
    said = _key(" ".join(known))
    for name, fits in _NO_PAPERS:
        if fits(front, said):
            return name
    if any(_is_about(front, title) for title in known):
        return ANOTHER
    if _bears(front, known):
        return TITLE if front.count >= MIN_PAGES else ""
    if known and all(_is_anothers(front, title) for title in known):
        return ANOTHER
    heads = [text for text in map(cleaned, headings) if _may_head(text)]
    headed = front.count >= MIN_PAGES and heads and _bears(_before_the_text(front), heads)
    return TITLE if headed else ""


def cleaned(title: str) -> str:
    """*title* as people read it: without markup and entities, and a year in parentheses or an
    ellipsis at its end.
    """
    text = " ".join(_TAGS.sub(" ", unescape(unescape(title))).split())
    text = _YEAR_AT_END.sub("", text)
    return text.removesuffix("...").removesuffix("\u2026").strip()


# What is no paper -------------------------------------------------------------------------


def _is_cv(front: Front, said: str) -> bool:
    """Return whether it is called so on top, or has the headings of one, or some beside degrees and
    posts, the first of them before anything that opens a paper's text.
    """
    keys = front.keys
    short = [key if len(key) <= MAX_HEADING else "" for key in keys]
    if any("curriculumvitae" in key or key in CV_NAMES for key in short[:8]):
        return not any(word in said for word in ("curriculum", "lebenslauf"))
    headings = {n: key for n, key in enumerate(short) if CV_HEADING.fullmatch(key)}
    run_in = ((n, CV_RUN_IN.match(text)) for n, text in enumerate(front.lines))
    headings |= {n: _key(found[0]) for n, found in run_in if found}
    begins = (n for n, key in enumerate(keys) if PAPER_BEGINS.match(key) and key != RESUME)
    core = (n for n in sorted(headings) if CV_CORE.search(headings[n]))
    if next(core, len(keys)) >= next(begins, len(keys)):
        return False
    degrees = {found for text in front.lines for found in DEGREE.findall(text)}
    different = len({*headings.values()})
    return different >= 4 or (different >= 2 and len(degrees) >= 2)


def _is_slides(front: Front, _: str) -> bool:
    """Return whether the pages lie on their side, with few words in large letters, or small; two
    pages of a report side by side, as it was printed, are none.
    """
    if not front.sheets or not front.words:
        return False
    wide = all(s.width > 1.15 * s.height for s in front.sheets)
    few = all(len(s.words) <= FEW for s in front.sheets)
    first = front.sheets[0]
    large = few and front.body >= SLIDE_TYPE * first.height
    spread = first.height >= SPREAD_SIDE and 1.36 < first.width / first.height < 1.55
    return wide and (large or first.width <= SMALL_SIDE) and not spread


def _is_poster(front: Front, _: str) -> bool:
    """Return whether it is one or two pages that are larger than a paper's, of at least A3."""
    few = front.count <= 2 and bool(front.sheets)
    return few and all(min(s.width, s.height) >= POSTER_SIDE for s in front.sheets)


def _is_form(front: Front, said: str) -> bool:
    text = "\n".join(sheet.text for sheet in front.sheets).lower()
    top = " ".join(_texts(front.sheets[0]))[:400].lower()
    signs = 2 * bool(FORM_TITLE.search(top) and not FORM_TITLE.search(said))
    signs += min(2, len(_BLANKS.findall(text)) // 2) + front.fillable
    return signs + len(set(FORM.findall(text))) >= 4 and len(front.words) < 900


def _is_supplement(front: Front, said: str) -> bool:
    """Return whether a line on top says that what follows only belongs to a paper."""
    found = next(
        (key for key in front.sheets[0].keys[:8] if SUPPLEMENT.match(key) and len(key) < 120), ""
    )
    return bool(found) and not SUPPLEMENT.match(said)


def _is_cover(front: Front, _: str) -> bool:
    """Return whether the whole PDF is what an archive puts before a paper."""
    text = "\n".join(sheet.text for sheet in front.sheets).lower()
    few = front.count <= len(front.sheets) and len(front.words) < 450
    return few and front.count <= 2 and len(set(COVER.findall(text))) >= 2


def _is_schedule(front: Front, _: str) -> bool:
    """Return whether it says when who speaks."""
    return sum(map(bool, map(_TIME.match, front.lines))) >= MIN_TIMES


def _is_fragment(front: Front) -> bool:
    """Return whether it is one page of a few words, and no picture of a text."""
    return front.count == 1 and not front.pictured and 0 < len(front.words) < FEW_IN_ALL


_NO_PAPERS = (
    (CV, _is_cv),
    (SLIDES, _is_slides),
    (POSTER, _is_poster),
    (FORM_SHEET, _is_form),
    (SUPPLEMENTARY, _is_supplement),
    (SCHEDULE, _is_schedule),
    (COVER_ONLY, _is_cover),
)


# Whose title ------------------------------------------------------------------------------


def _is_about(front: Front, title: str) -> bool:
    """Return whether the first page says on top that others write about the paper."""
    lines = _texts(front.sheets[0])[:TOP]
    for start, line in enumerate(lines):
        if found := ABOUT.match(line.strip()):
            rest = " ".join([line.strip()[found.end() :], *lines[start + 1 : start + WINDOW]])
            if _key(rest).startswith(_key(title)[:MIN_PART]):
                return True
    return False


def _bears(front: Front, titles: Iterable[str]) -> bool:
    return any(_stands(front, title) for title in titles)


def _stands(front: Front, title: str) -> bool:
    """Return whether *title* stands on one of the pages as a title does."""
    whole, main = _key(title), re.split(r"[:?!.]\s|\s[\u2013\u2014-]\s", title, maxsplit=1)[0]
    part = _key(main) if len(main) < len(title) and len(_tokens(main)) >= 4 else ""
    for number, sheet in enumerate(front.sheets):
        lines, _ = _own_lines(sheet, number)
        if _bare(lines, whole) or (len(whole) >= MIN_PART and _nearly(lines, title)):
            return True
        joined = "".join(map(_key, lines))
        if len(part) >= MIN_PART and whole not in joined and _bare(lines, part):
            return True
    return False


def _before_the_text(front: Front) -> Front:
    """What stands on the sheets before an abstract, keywords or an introduction, in letters that
    are larger than those of authors.
    """
    sheets = []
    for sheet in front.sheets:
        begins = (n for n, key in enumerate(sheet.keys) if PAPER_BEGINS.match(key))
        lines = sheet.lines[: next(begins, 0)]
        large = (line for line in lines if line.height >= AS_TITLES * front.body)
        sheets.append(replace(sheet, lines=tuple(large)))
    return replace(front, sheets=tuple(sheets))


def _may_head(heading: str) -> bool:
    """Return whether *heading* is long enough for a title, and no name of a house or a series."""
    return len(_key(heading)) >= MIN_KEY and not HOUSE.search(heading)


def _own_lines(sheet: Sheet, number: int) -> tuple[list[str], list[str]]:
    """The lines that may hold a paper's own title, and those of a list of others' titles."""
    lines = _texts(sheet)
    for n, (text, key) in enumerate(zip(lines, sheet.keys, strict=True)):
        if CONTENTS.fullmatch(key) or (number and OTHERS_LISTED.search(text)):
            return lines[:n], lines[n:]
    return lines, []


def _bare(lines: Sequence[str], key: str) -> bool:
    """Return whether lines begin with *key*, whatever line breaks, blanks and hyphens do to it."""
    keys = [_key(text) for text in lines]
    if any(_RTL.search(text) for text in lines):
        backward = [k[::-1] for k in keys]
        return any(key in "".join(k) for k in (keys, backward, keys[::-1], backward[::-1]))
    for start in range(len(keys)):
        if not keys[start] or (len(key) < MIN_KEY and start > TOP):
            continue
        joined, end = "", start
        while len(joined) < len(key) + 3 and end < min(len(keys), start + 2 * WINDOW):
            joined += keys[end]
            end += 1
        place = joined.find(key, 0, len(key) + len(_LABEL) + 8)
        if place < 0 or place >= len(keys[start]) or not _begins(lines[start], place):
            continue
        if _ends(lines, start, place + len(key)):
            return True
    return False


_LABEL = "workingpaper"


def _begins(line: str, place: int) -> bool:
    """Return whether a title may begin at the letter *place* of a line: at its start, behind a
    number or a label.
    """
    if not place:
        return True
    before = re.match(rf"(?:[\W_]*(?:[^\W_][\W_]*){{{place}}})", line)
    said = before[0].strip().lower() if before else "x"
    return said.endswith((":", ".", ")", "|")) and len(said) < 24 and "(" not in said


def _ends(lines: Sequence[str], start: int, length: int) -> bool:
    """Return whether a word ends behind so many letters from the line *start* on; what follows
    is another line, a mark of a footnote or a subtitle.
    """
    for line, below in zip_longest(lines[start:], lines[start + 1 :], fillvalue=""):
        letters = [m.start() for m in re.finditer(r"[^\W_]", _plain(line))]
        if length > len(letters):
            length -= len(letters)
            continue
        rest = _plain(line)[letters[length - 1] + 1 :]
        mark = re.match(r"[\W_]{0,2}[\d*\u2020\u2021ab]{0,2}(?!\w)", rest)
        after = rest[mark.end() :] if mark else rest
        if mark is None:
            return False
        cited = _CITED.match(f"{after} {below}")
        return not cited and (start < TOP or not after.strip())
    return False


def _nearly(lines: Sequence[str], title: str) -> bool:
    """Return whether some lines on top are *title* but for a formula, or a letter misread."""
    key, numbers = _key(title), _numbers(title)
    matcher = SequenceMatcher(b=key, autojunk=False)
    keys = [_key(text) for text in lines[:TOP]]
    for start in range(len(keys)):
        joined = ""
        for end in range(start, min(len(keys), start + WINDOW)):
            joined += keys[end]
            if not 0.8 * len(key) <= len(joined) <= 1.25 * len(key):
                continue
            matcher.set_seq1(joined)
            if matcher.real_quick_ratio() < ALIKE or matcher.quick_ratio() < ALIKE:
                continue
            said = _numbers(" ".join(lines[start : end + 1]))
            more = said[len(numbers) :]  # marks of footnotes; a year is that of a citation
            if matcher.ratio() >= ALIKE and said[: len(numbers)] == numbers:
                return all(len(number) < 4 for number in more)
    return False


def _is_anothers(front: Front, title: str) -> bool:
    """Return whether the pages are another paper's: its heading, in the title's language."""
    if any(_key(title) in "".join(map(_key, listed)) for listed in _listed(front)):
        return True
    language = _language(front.words)
    telling = set(_telling(_tokens(title), language)) if _may_be_of(title, language) else ()
    if len(telling) < MIN_WORDS:
        return False
    share = _share(telling, front.words, language)
    heads = [_tokens(text) for text in _headings(front)]
    tops = [_tokens(" ".join(_texts(front.sheets[0])[n : n + 3])) for n in range(12)]
    own = max(_share(telling, words, language) for words in (*heads, *tops))
    cited = _key(title) in _key(" ".join(sheet.text for sheet in front.sheets))
    headed = max((len(_telling(words, language)) for words in heads), default=0)
    if cited:  # the title's words are all there; a heading tells
        own = max((_share(telling, words, language) for words in heads), default=1.0)
        return own <= FEW_WORDS and headed >= MIN_WORDS
    return share <= FEW_WORDS or (own <= FEW_WORDS and share < 0.8 and headed >= MIN_WORDS)


def _share(telling: Collection[str], words: Sequence[str], language: str) -> float:
    """The share of a title's *telling* words that are among *words*."""
    return len({*_telling(words, language)}.intersection(telling)) / len(telling)


def _listed(front: Front) -> Iterator[list[str]]:
    return (_own_lines(sheet, number)[1] for number, sheet in enumerate(front.sheets))


def _headings(front: Front) -> Iterator[str]:
    """Yield what stands on the first page in larger letters, without names of houses and series."""
    group: list[Line] = []
    for line in (*front.sheets[0].lines, Line(text="", height=0)):
        if group and not 0.88 < line.height / group[-1].height < 1.14:
            text = " ".join(one.text for one in group)
            if len(_tokens(text)) >= MIN_WORDS and not HOUSE.search(text):
                yield text
            group = []
        if line.height > LARGER * front.body:
            group.append(line)


def _language(words: Sequence[str]) -> str:
    """The language of a text by its small words; empty where they are too few to tell."""
    if 2 * sum(map(bool, map(_CJK.match, words))) > len(words):
        return _WITHOUT_BLANKS
    counts = _small_words(words)
    name = max(counts, key=lambda n: counts[n])
    different = len(_SMALL[name].intersection(words))  # what is no text repeats one or two
    return name if counts[name] >= 0.08 * len(words) and different >= MIN_SMALL else ""


def _small_words(words: Sequence[str]) -> dict[str, int]:
    return {name: sum(w in small for w in words) for name, small in _SMALL.items()}


def _may_be_of(title: str, language: str) -> bool:
    """Return whether nothing speaks against it that *title* is of *language*."""
    words = _tokens(title) if language else []
    if language == _WITHOUT_BLANKS:
        return _language(words) == language
    counts = _small_words(words)
    if not any(counts.values()):
        return language == "en" and title.isascii()
    return counts[language] == max(counts.values())


def _telling(words: Sequence[str], language: str) -> list[str]:
    """The beginnings of the words that are not small ones; of Chinese each two characters."""
    if language == _WITHOUT_BLANKS:
        return [a + b for a, b in pairwise(words)]
    return [word[:6] for word in words if len(word) >= 4 and word not in _SMALL[language]]


# Text -------------------------------------------------------------------------------------


def _texts(sheet: Sheet) -> list[str]:
    return [line.text for line in sheet.lines]


def _plain(text: str) -> str:
    """*text* without accents and ligatures, in small letters."""
    spelled = unicodedata.normalize("NFKD", text.replace("&", " and ")).casefold()
    return "".join(c for c in spelled if not unicodedata.combining(c))


_SMALL = {name: frozenset(map(_plain, words)) for name, words in LANGUAGES.items()}
_WITHOUT_BLANKS = "zh"


def _key(text: str) -> str:
    return "".join(_TOKEN.findall(_plain(text)))


def _tokens(text: str) -> list[str]:
    """The words of *text*; those that a hyphen breaks at a line's end are one."""
    return _TOKEN.findall(re.sub(r"[-\u00ad\u2010\ufffe\x02]\n", "", _plain(text)))


def _numbers(text: str) -> list[str]:
    return _DIGITS.findall(_plain(text))
