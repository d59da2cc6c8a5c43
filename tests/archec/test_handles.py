from __future__ import annotations

import pickle

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lafka.archec.redif import handles
from lafka.errors import BadHandle, BadPid
from lafka.pids import SCHEMES

REPEC = SCHEMES["RePEc"]
SOCIONET = SCHEMES["Socionet"]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("RePEc:nbr", "RePEc:nbr"),
        ("repec:NBR:nberwo", "RePEc:nbr:nberwo"),
        ("REPEC:EDI:FrbGVus", "RePEc:edi:frbgvus"),
        ("RePEc:ABC:Wpaper:1S", "RePEc:abc:wpaper:1S"),
        (" RePEc: rsp: wpaper: wp 48\n", "RePEc:rsp:wpaper:wp48"),
        ("RePEc:eee:econom:v:64:y:1994:i:1-2", "RePEc:eee:econom:v:64:y:1994:i:1-2"),
        ("RePEc:per:1965-06-05:thomas_krichel", "RePEc:per:1965-06-05:thomas_krichel"),
        ("RePEc:a\u00a0b:c:d", "RePEc:ab:c:d"),
        ("SPZ:Neicon:X:Y:Z", "spz:neicon:x:y:z"),
        ("ReLIS:lis:paper:Q", "relis:lis:paper:q"),
        ("mapin:ABC", "mapin:abc"),
        ("RePEc:abc:w:" + ":" * 1000, "RePEc:abc:w:" + ":" * 1000),
        ("RePEc:abc:w:" + "n" * 288, "RePEc:abc:w:" + "n" * 288),
    ],
)
def test_the_canonical_form(text: str, canonical: str) -> None:
    assert str(handles.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty handle"),
        (" \n", "empty handle"),
        ("RePEc", "two parts"),
        ("RePEc:", "empty part"),
        ("RePEc::nberwo:1", "empty part"),
        ("RePEc:nbr:nberwo:", "empty part"),
        ("RePEc:nbr:nber\x00wo:1", r"U\+0000"),
        ("RePEc:nbr:nberwo:1\x1f", r"U\+001F"),
        ("RePEc:nbr:nberwo:\ufffd", r"U\+FFFD"),
        ("RePEc:nbr:nberwo:\ud800", r"U\+D800"),
        ("spz:x:y:\x7f", r"U\+007F"),
        ("http://x.example/a:b:c:d", "another kind"),
        ("doi:10.1016/x", "another kind"),
        ("arXiv:2101.00001", "another kind"),
        ("RePEc:nbr:nberwo:" + "1" * 9000, "over 8192 bytes"),
    ],
)
def test_what_is_no_handle_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(BadHandle, match=reason):
        handles.parse(text)


def test_the_parts_have_names() -> None:
    paper = handles.parse("RePEc:nbr:nberwo:0001:a")
    assert paper.parts == ("RePEc", "nbr", "nberwo", "0001:a")
    assert (paper.authority, paper.archive, paper.series, paper.number) == paper.parts
    assert paper.enclosing == ("RePEc:nbr:nberwo", "RePEc:nbr")
    assert paper.folder == "nbr/nberwo"
    series = handles.parse("RePEc:nbr:nberwo")
    assert (series.series, series.number, series.folder) == ("nberwo", None, "nbr")
    assert series.enclosing == ("RePEc:nbr",)
    archive = handles.parse("RePEc:nbr")
    assert (archive.series, archive.number, archive.enclosing) == (None, None, ())
    assert pickle.loads(pickle.dumps(paper)) == paper


PIECES = st.text(alphabet="aZé:İΣ .-_~/%\t", min_size=1, max_size=12)


@given(st.sampled_from(["RePEc", "repec", "SPZ", "a"]), st.lists(PIECES, min_size=1, max_size=5))
def test_canonical_once_is_canonical_for_ever(authority: str, parts: list[str]) -> None:
    try:
        handle = handles.parse(":".join([authority, *parts]))
    except BadHandle:
        return
    assert handles.parse(handle.text) == handle
    assert ":".join(handle.parts) == handle.text


@given(st.text(max_size=40))
@example("RePEc:İ:x:y")
def test_any_text_is_a_handle_or_refused(text: str) -> None:
    refusals = []
    try:
        handle = handles.parse(text)
    except BadHandle as error:
        refusals.append(str(error))
    else:
        assert len(handle.parts) in (2, 3, 4)
        assert all(handle.parts)
    assert all(refusal.isprintable() for refusal in refusals)


@given(
    st.sampled_from(["RePEc", "REPEC", "repec"]),
    st.lists(st.text(alphabet="aZé:İ.-_~/%\x00\ufeff", max_size=8), min_size=3, max_size=3),
)
@example("repec", ["PRA", "mprapa", "58120"])
def test_a_handle_of_four_parts_is_the_pid_of_that_paper(authority: str, parts: list[str]) -> None:
    text = ":".join([authority, *parts])
    try:
        pid = REPEC.pid(text)
    except BadPid:
        with pytest.raises(BadHandle):
            handles.parse(text)
    else:
        assert handles.parse(text).text == pid.text


@pytest.mark.parametrize("text", ["spz:Neicon:X:Y:Z", "ReLIS:lis:paper:Q", "mapin:a:b:C.d"])
def test_a_handle_of_another_authority_is_the_pid_of_socionet(text: str) -> None:
    assert handles.parse(text).text == SOCIONET.pid(text).text
