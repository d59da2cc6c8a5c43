from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.errors import BadUrl
from lafka.papers.lists.futlis import Futli, Line
from lafka.pids import SCHEMES
from lafka.urls import check_url

REPEC = SCHEMES["RePEc"]
PID = "RePEc:abc:wpaper:1"
URL = "http://x.example/1.pdf"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        (URL, "x.example"),
        ("http://X.Example:80/", "x.example"),
        ("http://user:123@x.example/", "x.example"),
        ("http://user:123@x.example:80", "x.example"),
        ("http://www.x.example?a", "www.x.example"),
        ("http://[::1]:80/", "::1"),
        ("http://münchen.example/", "münchen.example"),
    ],
)
def test_host(url: str, host: str) -> None:
    assert Futli(pid=REPEC.pid(PID), url=url).host == host


@given(st.text(alphabet="htps:/.@[]?#%\\ 019aé-_xX", max_size=30).map("http://".__add__))
def test_a_checked_url_has_a_host(url: str) -> None:
    try:
        check_url(url)
    except BadUrl:
        return
    assert Futli(pid=REPEC.pid(PID), url=url).host


def test_a_line_is_a_value() -> None:
    futli = Futli(pid=REPEC.pid(PID), url=URL)
    line = Line(number=1, pid_text=PID, url_text=URL, futli=futli)
    assert pickle.loads(pickle.dumps(line)) == line
