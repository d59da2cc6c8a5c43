"""Each page in tests/pages/ carries its verdict in the comment on top; this reads them all.

``url`` the page's address · ``alias`` a pid or a futli that led to it · ``content_type``,
``link_header`` as sent · ``first`` the surest candidate, or ``ranked`` the surest ones in order ·
``found_by``, ``label`` of the surest · ``promising`` how many are · ``has`` an address that is a
candidate, ``never`` one that is not · ``labelled`` a label and an address · ``kind``, ``reason`` of
``describe``.
"""

import re
from pathlib import Path

import pytest

from lafka.papers.finders import Page, describe, find

PAGES = sorted((Path(__file__).parents[2] / "pages").glob("*.html"))
KEYS = frozenset({
    "url", "alias", "content_type", "link_header", "first", "ranked", "found_by", "label",
    "promising", "has", "never", "labelled", "kind", "reason",
})  # fmt: skip


def read(path):
    top, _, body = path.read_bytes().partition(b"-->\n")
    verdict = {}
    for line in top.decode().splitlines()[1:]:
        key, _, value = line.partition(": ")
        assert key in KEYS, f"{path.name}: {key}"
        verdict.setdefault(key, []).append(value)
    page = Page(
        verdict["url"][0],
        body,
        verdict.get("content_type", ["text/html"])[0],
        tuple(verdict.get("link_header", ())),
        tuple(verdict.get("alias", ())),
    )
    return page, verdict


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
def test_a_page_gets_its_verdict(path):
    page, verdict = read(path)
    ranked = find(page)
    urls = [c.url for c in ranked]
    expected = verdict.get("ranked") or verdict.get("first") or []
    shown = [(c.url, c.score, c.reasons) for c in ranked[:4]]
    assert urls[: len(expected)] == expected, shown
    for url in verdict.get("has", ()):
        assert url in urls
    for url in verdict.get("never", ()):
        assert url not in urls
    if "found_by" in verdict:
        assert ranked[0].found_by == verdict["found_by"][0], shown
    if "label" in verdict:
        assert ranked[0].label == verdict["label"][0], shown
    if "promising" in verdict:
        assert sum(c.promising for c in ranked) == int(verdict["promising"][0]), shown
    for line in verdict.get("labelled", ()):
        label, _, url = line.partition(" ")
        assert [c.label for c in ranked if c.url == url] == [label]
    found = describe(page)
    assert found.kind == verdict["kind"][0], found.reason
    for reason in verdict.get("reason", ()):
        assert re.search(reason, found.reason)
