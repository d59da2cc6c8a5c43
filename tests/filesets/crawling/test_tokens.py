"""Tokens: read from a file that is the operator's alone, sent to their host alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scrapy import Request

from lafka.capture.handler import SECRETS_KEY
from lafka.errors import BadArgument, BadUrl
from lafka.filesets.crawling.tokens import PlatformBases, TokensMiddleware
from lafka.filesets.targets import Token, load_tokens

TOKENS = {"a.example": Token(header="X-Key", value="s3cret-value")}


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://a.example/1", True),
        ("http://a.example/1", False),
        ("https://b.a.example/1", False),
        ("https://b.example/1", False),
        ("http://127.0.0.2:80/1", True),  # a mirror on this machine
    ],
)
def test_a_token_goes_to_its_host_alone(url: str, sent: bool) -> None:
    bases = PlatformBases({"a.example": "http://127.0.0.2:80"})
    request = Request(url, headers={"X-Key": "of another host"})
    TokensMiddleware(TOKENS, bases).process_request(request)
    assert request.headers.getlist("X-Key") == ([b"s3cret-value"] if sent else [])
    assert request.meta[SECRETS_KEY] == (b"x-key",)
    assert "s3cret" not in repr(TOKENS)


def test_a_token_in_a_url_is_refused() -> None:
    request = Request("https://c.example/?key=s3cret-value")
    with pytest.raises(BadUrl) as raised:
        TokensMiddleware(TOKENS, PlatformBases()).process_request(request)
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "mode", "sentence"),
    [
        ("{", 0o600, "not JSON"),
        ("[]", 0o600, "no object of hosts"),
        ('{"a": {}}', 0o600, "a needs a header and a value"),
        ('{"a": {"header": "X", "value": "a\\nb"}}', 0o600, "a needs a header and a value"),
        ('{"a": {"header": "X y", "value": "v"}}', 0o600, "a needs a header and a value"),
        ("{}", 0o640, "others may read it"),
        (None, 0, "No such file"),
    ],
)
def test_a_file_that_is_none_is_refused(
    tmp_path: Path, text: str | None, mode: int, sentence: str
) -> None:
    path = tmp_path / "tokens.json"
    if text is not None:
        path.write_text(text)
        path.chmod(mode)
    with pytest.raises(BadArgument, match=sentence):
        load_tokens(str(path))


def test_a_good_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    path.write_text(json.dumps({"A.example": {"header": "X-Key", "value": "s3cret-value"}}))
    path.chmod(0o600)
    assert load_tokens(str(path)) == TOKENS
    assert load_tokens(None) == {}
