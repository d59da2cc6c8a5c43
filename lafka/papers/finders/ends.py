"""Ends of pages that are no fut: told from the page alone, and rather a splap than too much."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lafka.papers.candidates import CITATION_PDF_URL
from lafka.papers.finders.frames import frames
from lafka.papers.finders.pages import FEW_LINKS, Page
from lafka.papers.finders.scripts import led_on

SHORT = 2_500  # visible characters: challenges and login forms say little


@dataclass(frozen=True, slots=True, kw_only=True)
class PageVerdict:
    """``kind`` is ``bot-challenge``, ``login``, ``viewer`` or ``splap``; ``reason`` says why."""

    kind: str
    reason: str = ""


# Strings of the source that only a challenge has.
CHALLENGES: tuple[tuple[str, str], ...] = (
    ("_cf_chl_opt", "Cloudflare"),
    ("cf-browser-verification", "Cloudflare"),
    ("cf-challenge", "Cloudflare"),
    ("cf-error-details", "Cloudflare"),
    ("captcha-delivery.com", "DataDome"),
    ("incapsula incident id", "Imperva"),
    ("px-captcha", "PerimeterX"),
    ("human-challenge", "PerimeterX"),
    ("gokuprops", "AWS WAF"),
    ("captcha-sdk.awswaf.com", "AWS WAF"),
    ("sec-if-cpt-container", "Akamai"),
    ("/_sec/cp_challenge", "Akamai"),
    ("bm-verify", "Akamai"),
    ("errors.edgesuite.net", "Akamai"),
    ("validate.perfdrive.com", "Radware"),
    ("anubis_challenge", "Anubis"),
    ("/.within.website/", "Anubis"),
    ("/showcaptcha", "SmartCaptcha"),
    ("sucuri_cloudproxy", "Sucuri"),
    ("slowaes", "a script challenge"),
    ("the requested url was rejected. please consult", "F5"),
    ("vercel security checkpoint", "Vercel"),
)
# Strings that a guarded site's ordinary pages and forms have as well: they count where a page
# says next to nothing else.
GUARDS: tuple[tuple[str, str], ...] = (
    ("cf-turnstile", "Cloudflare Turnstile"),
    ("challenges.cloudflare.com", "Cloudflare Turnstile"),
    ("_incapsula_resource", "Imperva"),
    ("_pxappid", "PerimeterX"),
    ("awswafintegration", "AWS WAF"),
    ("awswafcookiedomainlist", "AWS WAF"),
    ("ddos-guard", "DDoS-Guard"),
    ("smartcaptcha", "SmartCaptcha"),
    ("/tspd/", "F5"),
    ("g-recaptcha", "reCAPTCHA"),
    ("h-captcha", "hCaptcha"),
    ("friendlycaptcha", "Friendly Captcha"),
    ("frc-captcha", "Friendly Captcha"),
    ("altcha-widget", "Altcha"),
)
_FILE_SIGNS = ("pdf", "download", "bitstream", "getfile", "viewcontent", "/files/")
_CHALLENGE_TITLE = re.compile(
    r"just a moment|attention required|checking your browser|verify(?:ing)? (?:that )?you are"
    r"|are you a (?:robot|human)|robot check|human verification|client challenge|security check"
    r"|pardon our interruption|access (?:to this page has been )?denied|bot (?:check|detection)"
    r"|making sure you|one more step|ddos[- ]guard|please wait\.\.\.|captcha|validate user"
    r"|un momento|un instant|nur einen moment|один момент|请稍候|security checkpoint"
    r"|unusual traffic",
    re.IGNORECASE,
)
_CHALLENGE_TEXT = re.compile(
    r"enable javascript and cookies to continue|checking your browser before"
    r"|verify you are (?:a )?human"
    r"|please complete the (?:security check|captcha)|unusual (?:traffic|activity) from your"
    r"|are not a (?:robot|bot)|automated (?:access|requests|queries)"
    r"|prove (?:that )?you are (?:human|not)"
    r"|confirm (?:that )?you are (?:a )?human|press (?:and|&) hold|request unsuccessful\. incapsula"
    r"|подтвердите, что (?:вы|запросы)|access denied.{0,80}reference #",
    re.IGNORECASE,
)
_LOGIN_ADDRESS = re.compile(
    r"/(?:login|log-in|signin|sign-in|sso|saml2?|idp|wayf|cas|shibboleth(?:\.sso)?|openathens|auth"
    r"|authenticate|ldap-login|password-login|ssostart|accounts?)(?:[/.?]|$)|[?&]wayf=|/connect/authorize",
    re.IGNORECASE,
)
_LOGIN_TITLE = re.compile(
    r"\blog ?-?in\b|\bsign ?-?in\b|anmelden|anmeldung|connexion|iniciar sesi[oó]n|entrar|accedi"
    r"|вход|увійти|авторизац|zaloguj|logowanie|giriş|ログイン|登录|登入|로그인|authentication"
    r"|single sign|access check|institutional access|shibboleth|einloggen|přihl",
    re.IGNORECASE,
)
_PAYWALL = re.compile(
    r"(?:purchase|buy) (?:pdf|article|access|this|instant|now|chapter)|get (?:full )?access"
    r"|rent (?:this|or buy)"
    r"|access through your (?:institution|organi[sz]ation)"
    r"|subscribe to (?:read|view|journal|access|continue)"
    r"|log ?in to (?:read|view|access)|restricted to (?:registered|authori[sz]ed|repository)"
    r"|request a copy"
    r"|you do not have access|access (?:is )?restricted|embargo",
    re.IGNORECASE,
)
_PRICE = re.compile(
    r"(?:[$€£¥]|\b(?:US\$|USD|EUR|GBP|CHF|JPY|CAD|AUD)) ?\d{1,5}"
    r"|\b\d{1,5}(?:[.,]\d\d)? ?(?:[€£]|(?:USD|EUR|GBP|CHF|JPY|CAD|AUD|euros?|dollars)\b)"
)
_DENIED = re.compile(r"access (?:to this page has been )?denied", re.IGNORECASE)
_VIEWER_SOURCE = (
    "pdfviewerapplication", 'id="viewercontainer"', "pdf.worker", "pdfjs-dist", "/pdf.js/",
    "pdfjsviewer", "pdfjs/web/viewer", "pdfjs.getdocument", "pdfjslib", "web/viewer.js",
)  # fmt: skip
_PAPER_METAS = (
    "citation_title", "citation_doi", "citation_author", "citation_authors", "dc.title",
    "dc.creator", "citation_journal_title", "eprints.title", CITATION_PDF_URL,
)  # fmt: skip


def describe(page: Page) -> PageVerdict:
    """Return what kind of page this is. A page with the metas of a paper is a splap or
    its viewer.
    """
    source = page.source[:400_000].lower()
    if not page.meta(*_PAPER_METAS):
        found = _challenge(page, source) or _login(page)
        if found:
            return found
    return _viewer(page, source) or _splap(page)


def _short(page: Page) -> bool:
    return len(page.visible) < SHORT and len(page.elements.get("a", ())) < FEW_LINKS


def _bare(page: Page) -> bool:
    """Return whether a page says next to nothing and links to no file."""
    if not page.is_bare:
        return False
    hrefs = [e.get("href").lower() for e in page.every("a")]
    return not any(sign in href for href in hrefs for sign in _FILE_SIGNS)


def _challenge(page: Page, source: str) -> PageVerdict | None:
    if not _short(page):
        return None
    bare = _bare(page)
    sells = bare and _sells(page)
    guards = CHALLENGES + GUARDS if bare and not (sells or _password(page)) else CHALLENGES
    guard = next((name for marker, name in guards if marker in source), "")
    if guard:
        return PageVerdict(kind="bot-challenge", reason=f"{guard}: its script and little else")
    title = _CHALLENGE_TITLE.search(page.title) if bare and not sells else None
    if title:
        return PageVerdict(kind="bot-challenge", reason=f"the title says {title[0]!r}")
    said = _CHALLENGE_TEXT.search(page.visible)
    if said:
        return PageVerdict(kind="bot-challenge", reason=f"the page says {said[0][:60]!r}")
    return None


def _password(page: Page) -> bool:
    return any(e.get("type").lower() == "password" for e in page.every("input"))


def _sells(page: Page) -> bool:
    """Return whether a page names a price and a way to log in: who denies access for
    money does so.
    """
    priced = _PRICE.search(page.visible)
    return bool(priced) and (_password(page) or bool(_LOGIN_TITLE.search(page.visible)))


def _login(page: Page) -> PageVerdict | None:
    form = _password(page)
    address = _LOGIN_ADDRESS.search(page.url.partition("://")[2].partition("?")[0])
    title = _LOGIN_TITLE.search(page.title)
    if form and (title or address):
        return PageVerdict(kind="login", reason="asks for a password, as its title or address says")
    if form and _bare(page):
        return PageVerdict(kind="login", reason="a password form and little else")
    if _DENIED.search(page.title) and _short(page) and _sells(page):
        return PageVerdict(kind="login", reason="access denied, a price and a way to log in")
    if address and title and _short(page):
        return PageVerdict(kind="login", reason="an address and a title of a login, no form yet")
    return None


def _viewer(page: Page, source: str) -> PageVerdict | None:
    if len(page.visible) >= SHORT or len(page.elements.get("a", ())) >= FEW_LINKS:
        return None
    shown = next((c for c in frames(page) if c.score > 0), None)
    if shown:
        return PageVerdict(kind="viewer", reason=f"shows {shown.url} and little else")
    marker = next((m for m in _VIEWER_SOURCE if m in source), None)
    if marker and not page.meta(*_PAPER_METAS):
        return PageVerdict(kind="viewer", reason=f"a PDF viewer by its script: {marker}")
    return None


def _splap(page: Page) -> PageVerdict:
    if _bare(page) and (url := led_on(page)):
        return PageVerdict(kind="splap", reason=f"a script leads on, which is not run: {url}")
    paywall = _PAYWALL.search(page.visible)
    if paywall:
        return PageVerdict(kind="splap", reason=f"abstract only, it seems: {paywall[0]!r}")
    return PageVerdict(kind="splap", reason="")
