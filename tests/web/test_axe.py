"""axe-core finds nothing wrong with any kind of page (WCAG 2.2 AA)."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.services import npms
from tests.services.chromiums import goto_styled
from tests.web.served import PID, UGLY, WITHHELD, Served

PATHS = {
    "home": "/",
    "search": "/search?q=abc",
    "nothing found": "/search?q=nowhere",
    "a paper": f"/papers/{PID}",
    "an ugly pid": f"/papers/{quote(UGLY, safe='')}",
    "a paper withheld": f"/papers/{WITHHELD}",
    "runs": "/runs",
    "archives": "/archives",
    "years": "/years",
    "newest": "/search",
    "an archive": "/archives/abc",
    "a series": "/archives/abc/wpaper",
    "not here": "/papers/none",
}
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PATHS)
def test_nothing_is_wrong_with(browser: Any, served: Served, name: str, scheme: str) -> None:
    assert violations(browser, f"{served.pages}{PATHS[name]}", scheme) == []


def violations(browser: Any, url: str, scheme: str) -> list[tuple[str, str]]:
    """What axe-core finds wrong with the page at *url*: a rule, and the first element."""
    axe = npms.member("axe-core@4.10.2", "axe.min.js").decode()
    page = browser.new_page(color_scheme=scheme)
    try:
        goto_styled(page, url)
        page.evaluate(axe)
        options = {"runOnly": {"type": "tag", "values": TAGS}, "iframes": False}
        found = page.evaluate("options => axe.run(document, options)", options)
    finally:
        page.close()
    assert found["passes"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]]
