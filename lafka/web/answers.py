"""Answers with the headers that those of each origin have (docs/security.md, "Web pages")."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lafka.errors import printable

_EVERYWHERE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": (
        "accelerometer=(), camera=(), geolocation=(), gyroscope=(), magnetometer=(),"
        " microphone=(), payment=(), usb=()"
    ),
}


def for_pages(framed: str) -> dict[str, str]:
    """Headers of our pages: no script at all, frames from *framed* alone, never framed."""
    policy = (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self';"
        f" base-uri 'none'; frame-ancestors 'none'; frame-src {framed}"
    )
    return {
        **_EVERYWHERE,
        "Content-Security-Policy": policy,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "X-Frame-Options": "DENY",
    }


def for_bytes(pages_at: str) -> dict[str, str]:
    """Headers of what others wrote: nothing runs, nothing is fetched, framed by our pages alone."""
    policy = (
        "sandbox; default-src 'none'; style-src 'unsafe-inline' data:; img-src data:;"
        " font-src data:; form-action 'none'; base-uri 'none';"
        f" frame-ancestors {pages_at}"
    )
    return {
        **_EVERYWHERE,
        "Content-Security-Policy": policy,
        "Cross-Origin-Resource-Policy": "same-site",
    }


SANDBOX = "allow-scripts allow-same-origin"
"""Rights of a frame in which scripts of archived pages run: no popup, no form, no way to top.

The origin is ReplayWeb.page's own; without it the program's worker would not answer its frames.
"""


def for_replayweb(pages_at: str) -> dict[str, str]:
    """Headers of ReplayWeb.page: scripts run, and reach nothing but this origin."""
    policy = (
        f"sandbox {SANDBOX}; default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:;"
        " connect-src 'self' data: blob:; form-action 'none'; base-uri 'self';"
        f" frame-ancestors 'self' {pages_at}"
    )
    return {
        **_EVERYWHERE,
        "Content-Security-Policy": policy,
        "Connection-Allowlist": "(response-origin); redirects=allow; webrtc=block",
        "Cross-Origin-Resource-Policy": "same-origin",
        "X-DNS-Prefetch-Control": "off",
    }


_TEXTS = ("text/", "application/json", "application/link-format", "application/atom+xml")
_LEAST = 1024


def compress(request: Request, response: Response) -> None:
    """Compress *response* by gzip where that helps: text of ours, of no secret, asked for so."""
    kind = response.headers.get("content-type", "")
    is_text = kind.startswith(_TEXTS) and len(getattr(response, "body", b"")) > _LEAST
    marked = {"accept-ranges", "content-encoding"}.intersection(response.headers)
    if not is_text or marked or response.headers.get("cache-control") == "no-store":
        return
    response.headers.add_vary_header("Accept-Encoding")
    if "gzip" in request.headers.get("accept-encoding", ""):
        response.body = gzip.compress(bytes(response.body), 6, mtime=0)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Content-Length"] = str(len(response.body))


def told(status: int, sentence: str, **headers: str) -> Response:
    """A refusal: one sentence, as text."""
    text = f"{printable(sentence)}\n"
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(text, status_code=status, media_type="text/plain", headers=named)


def as_json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    text = json.dumps(value, ensure_ascii=False, indent=1, default=str)
    data = f"{text}\n".encode("utf-8", "backslashreplace")  # JSON's own escapes of surrogates
    return Response(
        data, status_code=status, media_type="application/json", headers=dict(headers or {})
    )
