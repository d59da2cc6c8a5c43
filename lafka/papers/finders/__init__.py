"""A splap in, ranked candidates out. Pure: no request is made here, and nothing raises.

``sure``      only what ``citation_pdf_url`` names: it is asked for first, whatever else is found
``find``      all candidates, surest first, each with its finder, score and reasons
``titles``    what a page calls its paper, by a first look at its metas
``look``      the same, and the kind of the page
``literal``   the requirement paper to the letter: ``citation_pdf_url``, then links in page order
``kind_of``   what the page is about: one paper, a list, an issue, a search, ...
``describe``  whether the page is a bot challenge, a login, a viewer or a splap

A finder is a function from a page to candidates. ``finding.FINDERS`` lists them, surest first;
where two name the same address, the one that stands first gives ``found_by``. How scores come about
is told in docs/finding.md, the numbers are in ``weights``. But for the first look all is imported
when it is asked for: in most crawls that is in a child, or never.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from lafka.papers.finders.first import sure as sure
from lafka.papers.finders.first import titles as titles
from lafka.papers.finders.pages import Page as Page

if TYPE_CHECKING:
    from lafka.papers.finders.ends import PageVerdict as PageVerdict
    from lafka.papers.finders.ends import describe as describe
    from lafka.papers.finders.finding import find as find
    from lafka.papers.finders.finding import literal as literal
    from lafka.papers.finders.finding import look as look
    from lafka.papers.finders.kinds import headings_of as headings_of
    from lafka.papers.finders.kinds import kind_of as kind_of
    from lafka.papers.finders.kinds import titles_of as titles_of

_HOMES = {
    "PageVerdict": "lafka.papers.finders.ends",
    "describe": "lafka.papers.finders.ends",
    "find": "lafka.papers.finders.finding",
    "headings_of": "lafka.papers.finders.kinds",
    "kind_of": "lafka.papers.finders.kinds",
    "literal": "lafka.papers.finders.finding",
    "look": "lafka.papers.finders.finding",
    "titles_of": "lafka.papers.finders.kinds",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value
