"""Forms that lead to the paper's file: asked for by GET, also where they say POST."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

from lxml import etree
from parsel import Selector

from lafka.papers.candidates import FORM, Candidate
from lafka.papers.finders import urls, weights
from lafka.papers.finders.pages import Element, Page, attributes_of

MAX_FIELDS = 20  # hidden fields of one form that go into its query
_ASKS = tuple(r for r in weights.HREF if r.name in ("ends-in-pdf", "pdf-path", "asks-pdf"))
_AGAINST = tuple(r for r in weights.HREF if r.weight <= -4)
_OWN = frozenset({"own-identifier", "own-number", "own-address"})


def forms(page: Page) -> Iterator[Candidate]:
    """Forms whose address has the paper's own identifier and says PDF, last of the promising.

    A form without a method, or with GET, sends its hidden fields in the query (HTML standard,
    4.10.21.3); they are added. A form that says POST is asked at its action as it stands.
    """
    for element in page.every("form"):
        url = sent_to(page, element.node)
        if url is None:
            continue
        text = urls.path_and_query(url)
        named = _named(element)
        says = [r.name for r in _ASKS if r.fits(text)] or (["says-pdf"] if named else [])
        own = [r for r in page.identity.judge(text) if r in _OWN]
        if says and own and not any(r.fits(text) for r in _AGAINST):
            yield Candidate(
                url=url,
                found_by=FORM,
                score=weights.FORM,
                place=element.place,
                reasons=(*says, *own),
            )


def sent_to(page: Page, form: etree._Element) -> str | None:
    """Return the address that *form* asks for as :func:`forms` says, None where it is none."""
    action = form.get("action", "")
    if form.get("method", "").lower() == "post" or not action:
        return page.absolute(action)
    hidden = Selector(root=form).xpath(".//input[@type='hidden'][@name]")
    given = [attributes_of(n.root) for n in hidden[:MAX_FIELDS]]
    fields = [(a["name"], a.get("value", "")) for a in given if "name" in a]
    plain = action.partition("?")[0] if fields else action
    return page.absolute(f"{plain}?{urlencode(fields)}" if fields else plain)


def _named(form: Element) -> bool:
    """Return whether the form's button says PDF."""
    inside = Selector(root=form.node)
    said = inside.css("button ::text, input[type=submit]::attr(value)").getall()
    return any("pdf" in text.lower() for text in said)
