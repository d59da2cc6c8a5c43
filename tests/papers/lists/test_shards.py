from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.errors import BadArgument
from lafka.papers import shard_of
from lafka.papers.lists.futlis import Shard

PID = "RePEc:abc:wpaper:1"


def formula(name: str, n: int) -> int:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % n


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://www.Example.ORG:8443/a.pdf?x=1", "www.example.org"),
        ("http://127.0.0.1/a", "127.0.0.1"),
        ("https://[2001:db8::1]:80/a", "2001:db8::1"),
        ("https://DOI.org/10.1000/ABC/d", "doi.org/10.1000"),
        ("https://dx.doi.org/10.ABC/x", "dx.doi.org/10.abc"),
        ("http://hdl.handle.net/10419/1?locatt=x", "hdl.handle.net/10419"),
        ("https://doi.org", "doi.org/"),
        ("https://notdoi.org/10.1/x", "notdoi.org"),
        ("https://bücher.example/x", "bücher.example"),
        ("", PID),
        ("no url", PID),
        ("https://[broken/x", PID),
    ],
)
@pytest.mark.parametrize("n", [1, 2, 7, 64])
def test_the_shard_is_a_hash_of_the_host(url: str, name: str, n: int) -> None:
    assert shard_of(url, PID, n) == formula(name, n)


@given(st.text(), st.text(), st.integers(1, 64))
def test_every_line_has_a_shard(url: str, pid: str, n: int) -> None:
    assert 0 <= shard_of(url, pid, n) < n


def test_a_pid_that_is_not_unicode_has_a_shard_too() -> None:
    assert shard_of("", "\udcff", 5) == formula("\udcff", 5)


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_shards_are_parsed_as_they_are_written(number: int, more: int) -> None:
    shard = Shard(number=number, count=number + more)
    assert Shard.parse(str(shard)) == shard


@pytest.mark.parametrize("text", ["4/4", "a/b", "-1/3", "1/0", "1", "", "1/2/3", "0/ 2", "٠/١"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(BadArgument, match="is not like 0/4"):
        Shard.parse(text)
