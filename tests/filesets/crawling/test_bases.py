"""Mirrors: which URL is asked for another, and what is told of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.errors import BadArgument
from lafka.filesets.crawling.tokens import PlatformBases

BASES = PlatformBases({"zenodo.org": "http://127.0.0.2:8000", "X.example": "http://127.0.0.3:1"})


@given(path=st.text(st.sampled_from("ab/%?=&:é"), max_size=20))
def test_what_is_told_is_what_was_meant(path: str) -> None:
    url = f"https://zenodo.org/{path}"
    asked = BASES.asked(url)
    assert asked == f"http://127.0.0.2:8000/{path}"
    assert BASES.told(asked) == url


def test_hosts_that_are_not_named_stay() -> None:
    for url in ("https://sub.zenodo.org/1", "http://127.0.0.2:8001/", "https://y.example/"):
        assert BASES.asked(url) == BASES.told(url) == url
    assert BASES.asked("https://x.EXAMPLE/a") == "http://127.0.0.3:1/a"


@pytest.mark.parametrize(
    ("bases", "sentence"),
    [
        ({"a": "127.0.0.2:80"}, "is no http://host:port"),
        ({"a": "ftp://x"}, "is no http://host:port"),
        ({"a": "http://x/path"}, "is no http://host:port"),
        ({"a": "http://x", "b": "http://x/"}, "two hosts have one base"),
    ],
)
def test_a_base_that_is_none_is_refused(bases: dict[str, str], sentence: str) -> None:
    with pytest.raises(BadArgument, match=sentence):
        PlatformBases(bases)


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("http://127.0.0.2:8000/a: no answer", "zenodo.org/a: no answer"),
        ("no answer of 127.0.0.2:8000.", "no answer of zenodo.org."),
        ("127.0.0.2 refused", "zenodo.org refused"),
        ("127.0.0.20 and 127.0.0.2.example stay", "127.0.0.20 and 127.0.0.2.example stay"),
    ],
)
def test_a_sentence_names_the_platform_and_not_its_mirror(sentence: str, told: str) -> None:
    assert BASES.told_in(sentence) == told
