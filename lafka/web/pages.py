"""Our pages, made from ``templates/``: what is foreign is escaped, and no page has a script."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote, unquote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response

from lafka.errors import NotHeld
from lafka.index import tables
from lafka.index.rows import BACK, HELD, LOST, NEVER, PAGE, STATES, SUSPECT
from lafka.index.search import COUNTED, MARKS, FoundPaper, Question, search
from lafka.storage.outputs import in_bytes
from lafka.urls.memento import link
from lafka.web import telling
from lafka.web.answers import SANDBOX, for_pages
from lafka.web.comparison import Comparer
from lafka.web.replayweb import url_of
from lafka.web.site import Site

_BARS_MAX = 60
"""Years that are drawn, up to the last."""
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]"
)


def visible(text: object) -> Markup:
    """*text* escaped, characters that are not seen or turn lines around as visible escapes."""
    shown = str(text)
    return escape(shown if shown.isprintable() else _UNSEEN.sub(_escape, shown))


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def plain(text: object) -> str:
    """*text* for an attribute: control and direction characters are left out."""
    return _UNSEEN.sub("", str(text))


def number(value: float | None) -> str:
    """*value* for people: ``1,234``; empty for none."""
    if value is None:
        return ""
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"


@lru_cache(maxsize=4096)
def when(time: str | None, *, clock: bool = False) -> Markup | str:
    """*time* as a person reads it, with its minute where *clock*, the exact one behind it."""
    if not time:
        return ""
    try:
        date = datetime.fromisoformat(time[:10])
    except ValueError:
        return visible(time)
    shown = f"{date.day}\xa0{date:%b}\xa0{date.year}"
    if clock and time[10:11] == "T":
        shown = f"{shown},\xa0{time[11:16]}"
    exact = escape(time)
    return Markup(f'<time datetime="{exact}" title="{exact}">{escape(shown)}</time>')  # noqa: S704


def title_of(paper: FoundPaper) -> Markup:
    """The title of *paper*, else its pid, with the words that were looked for marked."""
    if not paper.marked:
        return visible(paper.title or paper.pid)
    return Markup(_UNSEEN.sub(_mark, escape(paper.marked)))  # noqa: S704  escaped before


def item_of(paper: FoundPaper) -> Markup:
    """*paper* in the list of a search."""
    told = [str(paper.year)] if paper.year else []
    told.append(f"{paper.futs} full text{'s' * (paper.futs > 1)}" if paper.futs else "no full text")
    told += [f"last had {when(paper.last)}"] if paper.last else []
    shown = (state_word(state) for state in paper.states if state not in (HELD, NEVER))
    told += [f"a link {escape(word)}" for word in shown]
    by = f'<span class="by" dir="auto">{visible(paper.authors)}</span>' if paper.authors else ""
    code = f"<code>{visible(paper.pid)}</code>" if paper.title else ""
    return Markup(  # noqa: S704  escaped before
        f'<li><a class="title" dir="auto" href="/papers/{quote(paper.pid, safe="")}">'
        f'{title_of(paper)}</a>\n{by}<span class="quiet">{code}'
        f" <span>{'</span> <span>'.join(told)}</span></span></li>\n"
    )


_TAGS = dict(zip(MARKS, ("<mark>", "</mark>"), strict=True))


def _mark(found: re.Match[str]) -> str:
    return _TAGS.get(found[0]) or _escape(found)


STATE_WORDS = {
    HELD: "with a full text", BACK: "with a full text again", SUSPECT: "without one last time",
    PAGE: "with a page where a full text was", LOST: "lost", NEVER: "without a full text so far",
}  # fmt: skip
"""The states of a link, as our pages say them behind a number of links."""


def state_word(state: str) -> str:
    """What a page says of a link's *state*; one that is not known stays as it is."""
    return STATE_WORDS.get(state, state)


class Pages:
    """Handlers of our pages of *site*."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._comparer = Comparer()
        self._made = Environment(
            loader=PackageLoader("lafka.web"), autoescape=True, undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True, auto_reload=False,
        )  # fmt: skip
        self._made.filters.update(
            visible=visible, part=lambda text: quote(str(text), safe=""),
            size=lambda size: in_bytes(size or 0).replace(" ", "\xa0"), plain=plain, number=number,
            when=when, item=item_of, state=state_word,
        )  # fmt: skip
        self._made.globals["site"] = site

    def compile(self) -> None:
        """Make every template ready, so that nobody who asks waits for it."""
        for name in self._made.list_templates():
            self._made.get_template(name)

    def page(self, name: str, code: int = 200, **values: Any) -> Response:
        """The page of the template *name*."""
        text = self._made.get_template(name).render(values)
        return Response(text, status_code=code, media_type="text/html")

    def refused(self, request: Request, status: int, sentence: str) -> Response:  # noqa: ARG002
        """The page that tells why there is none."""
        return self.page("refused.html", status, status=status, sentence=sentence)

    # ---- Handlers

    def style(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        text = files("lafka.web").joinpath("static/style.css").read_text("utf-8")
        headers = {"Cache-Control": "public, max-age=3600"}
        return Response(text, media_type="text/css", headers=headers)

    def robots(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        return Response("User-agent: *\nDisallow: /\n", media_type="text/plain")

    def healthz(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        telling.check_whole(self._site)
        return Response("the index answers\n", media_type="text/plain")

    def home(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        figures = telling.summary(self._site)
        return self.page("home.html", figures=figures, runs=telling.runs(self._site, 10),
                         bars=_bars(figures["years"]), parts=_parts(figures["states"]))  # fmt: skip

    def search(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        question = asked(request)
        return self._found(question, "Search" if any(_named(question).values()) else "Newest")

    def _found(self, question: Question, heading: str, above: Sequence[str] = ()) -> Response:
        """The papers that *question* matches, and what they can be narrowed to; *above*: the
        archive whose series they are.
        """
        with tables.reraising(self._site.index / tables.NAME):
            result = search(self._site.db(), question)
        if not result.papers and above:
            raise NotHeld(f"{heading} of {above[0]}: no paper is of it")
        named = _named(question)
        return self.page(
            "search.html", question=question, found=result, heading=heading, counted=COUNTED,
            above=above,
            more=_search_at(named, after=result.after) if result.after else "",
            order=_ORDERS.get(result.way, "by pid"), facets=_facets(result.facets, named),
            filters=[(name, value, _search_at(named, **{name: ""}))
                     for name, value in named.items() if name != "q"],
        )  # fmt: skip

    def paper(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        told = telling.paper(self._site, unquote(found["pid"]))
        pages = (c for c in reversed(told.captures) if c.kind == "html" and c.status == 200)
        page = self.page("paper.html", paper=told, splap=next(pages, None))
        page.headers["Link"] = self._signposts(told)
        return page

    def _signposts(self, told: telling.ShownPaper) -> str:
        """Links for machines: what the page is, what it is cited as, what it has (Signposting)."""
        at = self._site.page_of(told.pid)
        api = at.replace("/papers/", "/api/v1/papers/", 1)
        links = [link("https://schema.org/ScholarlyArticle", "type"), link(at, "cite-as"),
                 link(api, "describedby", type="application/json")]  # fmt: skip
        if told.versions and not told.withheld:
            items = {"pdf": self._site.fut_at(told.pid), "wacz": self._site.wacz_at(told.pid)}
            links += [link(at, "item", type=f"application/{kind}") for kind, at in items.items()]
        return ", ".join(links)

    def archives(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        rows = [(*one, f"/archives/{quote(one[0], safe='')}")
                for one in telling.summary(self._site)["archives"]]  # fmt: skip
        return self.page("browse.html", heading="Archives", what="Archive", rows=rows, archive="")

    def years(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        rows = [(*one, f"/search?year={one[0]}")
                for one in reversed(telling.summary(self._site)["years"])]  # fmt: skip
        return self.page("browse.html", heading="Years", what="Year", rows=rows, archive="")

    def capture(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        """One capture: its record, what was asked, what was answered, hops in order."""
        pid = self._site.open_pid(unquote(found["pid"]))
        wanted = unquote(found["record"])
        with self._site.volume(pid, self._site.suwaf(pid).end) as volume:
            before: list[Mapping[str, Any]] = []
            for record in volume:
                told = {"type": record.type, "fields": list(record.fields), "head": _head(record)}
                if record.type == "warcinfo":
                    before = []
                before.append(told)
                if record.id.strip("<>") == wanted:
                    around = [one for one in before if one["type"] in ("warcinfo", "request")]
                    return self.page(
                        "capture.html", pid=pid, record=wanted, told=told, around=around[-2:],
                        is_page=(record.type != "revisit"),
                    )  # fmt: skip
        raise NotHeld(f"{pid}: it has no such record")

    def compare(self, request: Request, found: re.Match[str]) -> Response:
        """Show how the texts of the versions with the digests ``old`` and ``new`` differ."""
        pid = self._site.open_pid(unquote(found["pid"]))
        held = telling.contents(self._site.suwaf(pid))
        digests = [request.query_params.get(name, "") for name in ("old", "new")]
        if not held.keys() >= {*digests}:
            raise NotHeld(f"{pid}: it has no such version")
        old, new = (held[digest] for digest in digests)
        found_changes = self._comparer.compare(*(self._site.fut(pid, one[2]) for one in (old, new)))
        return self.page("compare.html", pid=pid, old=old, new=new, found=found_changes)

    def replay(self, request: Request, found: re.Match[str]) -> Response:
        """A frame in which ReplayWeb.page replays ``url`` as the paper has it, and no way out."""
        if not self._site.origins.replayweb:
            raise NotHeld("no such page")
        pid = self._site.open_pid(unquote(found["pid"]))
        self._site.suwaf(pid)
        page = self.page(
            "replay.html", pid=pid, at=self._site.replay_at(pid, url_of(request)), rights=SANDBOX
        )
        page.headers.update(for_pages(self._site.origins.replayweb_for(pid)))
        page.headers["Cache-Control"] = "no-store"
        return page

    def runs(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        return self.page("runs.html", runs=telling.runs(self._site, 500))

    def run(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        return self.page("run.html", run=telling.run(self._site, unquote(found["name"])))

    def host(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        return self.page("host.html", host=telling.host(self._site, unquote(found["name"])))

    def archive(self, request: Request, found: re.Match[str]) -> Response:
        code = unquote(found["code"])
        if moved := self._moved(request, code):
            return moved
        told = telling.archive(self._site, code)
        rows = [
            (one["series"] or "(none)", one["papers"], one["with_fut"],
             f"/archives/{found['code']}/{quote(one['series'], safe='')}" if one["series"] else "")
            for one in told["series"]
        ]  # fmt: skip
        return self.page("browse.html", heading=f"Archive {told['code']}", what="Series", rows=rows,
                         archive=told["code"])  # fmt: skip

    def series(self, request: Request, found: re.Match[str]) -> Response:
        code, name = unquote(found["code"]), unquote(found["name"])
        if moved := self._moved(request, code, name):
            return moved
        question = replace(asked(request), archive=code, series=name)
        return self._found(question, f"Series {name}", (code,))

    def _moved(self, request: Request, *parts: str) -> Response | None:
        """Lead to an archive or series in lower case, as pids have it; None where it is so, or
        one that is not has papers.
        """
        lower = [part.lower() for part in parts]
        if lower == [*parts] or telling.has_papers(self._site, *parts):
            return None
        place = "/archives/" + "/".join(quote(part, safe="") for part in lower)
        query = f"?{request.url.query}" if request.url.query else ""
        return Response(status_code=301, headers={"Location": place + query})

    def report(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        """The newest HTML report in the folder of the index."""
        made = sorted(self._site.index.glob("*.html"), key=lambda path: path.stat().st_mtime)
        if not made:
            raise NotHeld("no report was made: lafka report -o index/report.html makes one")
        policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
        headers = {"Content-Security-Policy": policy}
        return Response(made[-1].read_bytes(), media_type="text/html", headers=headers)


SEARCHED = {"q": "text", "host": "host", "archive": "archive", "series": "series", "year": "year",
            "state": "state", "after": "after"}  # fmt: skip
"""The parameters of a search, and what of a question each is."""


def asked(request: Request) -> Question:
    """Return what a search asks for; ``BadArgument`` comes from the search itself."""
    query = request.query_params
    told: dict[str, Any] = {field: query.get(name, "") for name, field in SEARCHED.items()}
    return Question(**told)


def _named(question: Question) -> dict[str, str]:
    told = {name: getattr(question, field) for name, field in SEARCHED.items() if name != "after"}
    return {name: value for name, value in told.items() if value}


_ORDERS = {"words": "best first", "frequent-words": "shortest title first", "all": "newest first",
           "url": "by link", "archive": "by series", "host": "as they came",
           "state": "as they came", "year": "as they came"}  # fmt: skip


def _search_at(named: Mapping[str, str], **changed: str) -> str:
    """The address of a search by what is *named*, with some of it *changed* or, empty, left out."""
    asked = {name: value for name, value in {**named, **changed}.items() if value}
    return f"/search?{urlencode(asked)}" if asked else "/search"


def _facets(
    facets: Mapping[str, list[tuple[str, int]]], named: Mapping[str, str]
) -> list[tuple[str, Markup]]:
    """Return the facets of a search: name, and values with numbers and addresses as items."""
    base = escape(_search_at(named) + ("&" if named else "?"))
    return [
        (name, Markup("".join(  # noqa: S704  escaped before
            _FACET.format(base, *_facet(name, value, is_in="archive" in named), count)
            for value, count in values
        )))
        for name, values in facets.items() if name not in named and len(values) > 1
    ]  # fmt: skip


_FACET = '<li><a href="{}{}">{}</a> <span class="quiet">{:,}</span></li>\n'


@lru_cache(maxsize=4096)
def _facet(name: str, value: str, *, is_in: bool) -> tuple[Markup, Markup]:
    """What an address has of a facet, *is_in* an archive or not, and what is shown, escaped."""
    more = {name: value}
    if name == "series":
        archive, _, series = value.rpartition("/")
        more = {"series": series} if is_in else {"archive": archive, name: series}
    shown = state_word(value) if name == "state" else value
    return escape(urlencode(more)), visible(shown)


def _bars(years: list[tuple[int, int, int]]) -> list[tuple[int, int, int, float, float]]:
    """Years without a gap, papers, those with a full text, and both as heights up to 58."""
    counts = {year: (papers, with_fut) for year, papers, with_fut in years}
    last = max(counts, default=0)
    first = max(min(counts, default=1), last - _BARS_MAX + 1)
    most = max((papers for papers, _ in counts.values()), default=1)
    every = ((year, *counts.get(year, (0, 0))) for year in range(first, last + 1))
    return [(*one, round(58 * one[1] / most, 2), round(58 * one[2] / most, 2)) for one in every]


def _parts(states: Mapping[str, int]) -> list[tuple[str, int, float, float]]:
    """States that links are in, their number, where they begin of 100 and how much they are."""
    whole, begin, parts = sum(states.values()), 0.0, []
    for state in STATES:
        if count := states.get(state, 0):
            part = 100 * count / whole
            parts.append((state, count, round(begin, 2), round(part, 2)))
            begin += part
    return parts


def _head(record: Any) -> str:
    """The start line and header fields of the message in *record*, as text."""
    head = record.http
    if head is None:
        return ""
    text = bytes(record.source.read(0, min(head.end, 64 << 10))).decode("utf-8", "replace")
    return text.replace("\r\n", "\n").rstrip("\n")
