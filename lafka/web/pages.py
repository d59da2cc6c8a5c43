"""Our pages, made from ``templates/``: what is foreign is escaped, and no page has a script."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any
from urllib.parse import quote, unquote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response

from lafka.errors import NotHeld
from lafka.index.rows import STATES
from lafka.index.search import Question, search
from lafka.web import telling
from lafka.web.answers import SANDBOX, for_pages
from lafka.web.replayweb import url_of
from lafka.web.site import Site

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def visible(text: object) -> Markup:
    """*text* escaped, characters that are not seen or turn lines around as visible escapes."""
    shown = _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", str(text))
    return escape(shown)


def bytes_text(size: int | None) -> str:
    """*size* for people: ``1.4 MB``."""
    value, unit = float(size or 0), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


class Pages:
    """Handlers of our pages of *site*."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._made = Environment(
            loader=PackageLoader("lafka.web"), autoescape=True, undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True, auto_reload=False,
        )  # fmt: skip
        self._made.filters.update(
            visible=visible, size=bytes_text, part=lambda text: quote(str(text), safe="")
        )
        self._made.globals["site"] = site

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
        telling.summary(self._site)
        return Response("the index answers\n", media_type="text/plain")

    def home(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        figures = telling.summary(self._site)
        return self.page("home.html", figures=figures, runs=telling.runs(self._site, 10))

    def search(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        question = asked(request)
        result = search(self._site.db(), question)
        more = ""
        if result.after:
            more = "/search?" + urlencode({**_named(question), "after": result.after})
        return self.page("search.html", question=question, found=result, more=more, states=STATES)

    def paper(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        told = telling.paper(self._site, unquote(found["pid"]))
        pages = (c for c in reversed(told.captures) if c.kind == "html" and c.status == 200)
        splap = next(pages, None)
        return self.page("paper.html", paper=told, splap=splap)

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

    def archive(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        told = telling.archive(self._site, unquote(found["code"]))
        return self.page("archive.html", archive=told)

    def series(self, request: Request, found: re.Match[str]) -> Response:
        after = request.query_params.get("after", "")
        code, name = unquote(found["code"]), unquote(found["name"])
        return self.page("series.html", series=telling.series(self._site, code, name, after))

    def report(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        """The newest HTML report in the folder of the index."""
        made = sorted(self._site.index.glob("*.html"), key=lambda path: path.stat().st_mtime)
        if not made:
            raise NotHeld("no report was made: lafka report -o index/report.html makes one")
        policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
        headers = {"Content-Security-Policy": policy}
        return Response(made[-1].read_bytes(), media_type="text/html", headers=headers)


def asked(request: Request) -> Question:
    """Return what a search asks for; ``BadArgument`` comes from the search itself."""
    query = request.query_params
    return Question(
        text=query.get("q", ""),
        host=query.get("host", ""),
        archive=query.get("archive", ""),
        state=query.get("state", ""),
        after=query.get("after", ""),
    )


def _named(question: Question) -> dict[str, str]:
    told = {"q": question.text, "host": question.host, "archive": question.archive,
            "state": question.state}  # fmt: skip
    return {name: value for name, value in told.items() if value}


def _head(record: Any) -> str:
    """The start line and header fields of the message in *record*, as text."""
    head = record.http
    if head is None:
        return ""
    return bytes(record.source.read(0, min(head.end, 64 << 10))).decode("utf-8", "replace")
