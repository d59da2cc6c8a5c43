from __future__ import annotations

import pytest

from lafka.papers.finders import Page, describe

FORM = "<form><input name=user><input type=password name=pw><button>Go</button></form>"
LINK = "<a href='/signin'>Log in</a>"


def page(body: str, title: str = "Access denied") -> Page:
    html = f"<!doctype html><html><head><title>{title}</title></head><body>{body}</body></html>"
    return Page(url="https://journal.example/article/7", body=html.encode())


@pytest.mark.parametrize("login", [FORM, LINK, LINK + "<div class=g-recaptcha></div>"])
@pytest.mark.parametrize("price", ["$39.95", "US$ 40", "EUR 30", "35,00 €", "£12", "20 dollars"])
def test_access_denied_with_a_price_and_a_login_is_a_paywall(price: str, login: str) -> None:
    found = describe(page(f"<p>You have no access. Buy this paper for {price}.</p>{login}"))
    assert found.kind == "login"


@pytest.mark.parametrize(
    "body",
    [
        "<p>You don't have permission to access this server.</p>",
        f"<p>Your address was blocked, 403.</p>{LINK}",
        "<p>Incident 20 of 39.95; buy nothing, $5 or not.</p>",
        "<p>Reference #18.2d3 1600000000</p>" + LINK,
    ],
)
def test_access_denied_alone_is_a_guards(body: str) -> None:
    assert describe(page(body)).kind == "bot-challenge"


def test_a_guards_own_script_is_a_challenge_whatever_is_sold() -> None:
    body = f"<script>window._cf_chl_opt={{}}</script><p>$39.95</p>{LINK}"
    assert describe(page(body)).kind == "bot-challenge"


def test_a_page_of_another_title_that_sells_is_as_before() -> None:
    found = describe(page(f"<p>Purchase PDF for $39.95</p>{LINK}", title="On growth"))
    assert found.kind == "splap"
