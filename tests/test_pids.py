from __future__ import annotations

import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.errors import BadPid
from lafka.pids import SCHEMES, Pid, Scheme, component

REPEC = SCHEMES["RePEc"]
SOCIONET = SCHEMES["Socionet"]
ANY = SCHEMES["any"]

EXAMPLES = [
    ("RePEc", "repec:PRA:mprapa:58120", "RePEc/pra/mprapa/58120"),
    (
        "RePEc",
        "RePEc:eee:econom:v:64:y:1994:i:1-2:p:307-333",
        "RePEc/eee/econom/v%3A64%3Ay%3A1994%3Ai%3A1-2%3Ap%3A307-333",
    ),
    ("RePEc", "RePEc:arx:papers:cond-mat/9708018", "RePEc/arx/papers/cond-mat%2F9708018"),
    ("RePEc", "RePEc:cvv:journ6:v:3:i:1S", "RePEc/cvv/journ6/v%3A3%3Ai%3A1%53"),
    ("RePEc", "RePEc:con:aux:nul", "RePEc/%63on/%61ux/%6Eul"),
    (
        "RePEc",
        "RePEc:abc:wpaper:../../etc/passwd",
        "RePEc/abc/wpaper/%2E.%2F..%2Fetc%2Fpasswd",
    ),
    (
        "Socionet",
        "spz:neicon:vestnik-k:y:2015:i:4:p:247-250",
        "spz/neicon/vestnik-k/y%3A2015%3Ai%3A4%3Ap%3A247-250",
    ),
    ("RePEc", "RePEc:abc:x.:y.", "RePEc/abc/x%2E/y."),
    ("RePEc", "RePEc:~a:..:.", "RePEc/%7Ea/%2E%2E/%2E"),
    ("RePEc", "RePEc:com1.x:com0:LPT9.pdf", "RePEc/%63om1.x/com0/%4C%50%549.pdf"),
    ("RePEc", "RePEc:abc:wpaper:é%2F~", "RePEc/abc/wpaper/%C3%A9%252%46~"),
    ("Socionet", "REPEC:Abc:Wpaper:1S", "RePEc/abc/wpaper/1s"),
    ("Socionet", "SPZ:con:x:Y", "spz/%63on/x/y"),
]


@pytest.mark.parametrize(("name", "text", "path"), EXAMPLES)
def test_path_of_an_example(name: str, text: str, path: str) -> None:
    scheme = SCHEMES[name]
    pid = scheme.pid(text)
    assert pid.path == path
    assert scheme.path(pid) == path
    assert scheme.inverse(path) == pid


def test_canonical_forms() -> None:
    assert str(REPEC.pid("repec:PRA:MPrapa:58A")) == "RePEc:pra:mprapa:58A"
    assert str(REPEC.pid("RePEc:aaa:bbb::")) == "RePEc:aaa:bbb::"
    assert str(SOCIONET.pid("repec:PRA:MPrapa:58A")) == "RePEc:pra:mprapa:58a"
    assert str(SOCIONET.pid("SPZ:Neicon:X:Y:Z")) == "spz:neicon:x:y:z"
    assert str(ANY.pid("arXiv:2101.00001v2")) == "arXiv:2101.00001v2"


@pytest.mark.parametrize("scheme", [REPEC, SOCIONET, ANY])
@pytest.mark.parametrize(
    "text",
    [
        "doi:10.1016/S0304-4076(93)01564-3",
        "DOI:10.1016/s0304-4076(93)01564-3",
        "DOI: 10.1016/S0304-4076(93)01564-3",
        "10.1016/S0304-4076(93)01564-3",
        "https://doi.org/10.1016/S0304-4076(93)01564-3",
        "http://dx.doi.org/10.1016/S0304-4076(93)01564-3",
        "HTTPS://DOI.ORG/10.1016/S0304-4076%2893%2901564-3",
        "https://www.doi.org/10.1016%2FS0304-4076(93)01564-3",
        "doi.org/10.1016/S0304-4076(93)01564-3",
        "doi:https://doi.org/10.1016/S0304-4076(93)01564-3",
    ],
)
def test_one_doi_is_one_pid(scheme, text: str) -> None:
    pid = scheme.pid(text)
    assert str(pid) == "doi:10.1016/s0304-4076(93)01564-3"
    assert re.fullmatch(
        r"any/[0-9a-f]{2}/[0-9a-f]{2}/doi%3A10\.1016%2Fs0304-4076\(93\)01564-3", pid.path
    )
    assert scheme.inverse(pid.path) == pid


def test_a_doi_with_colons_or_percents_stays_whole() -> None:
    assert str(SOCIONET.pid("10.1/a:B:c:d")) == "doi:10.1/a:b:c:d"
    assert str(SOCIONET.pid("DOI:10.1/a:b:c")) == "doi:10.1/a:b:c"
    once = ANY.pid("https://doi.org/10.1/a%2541")
    assert str(once) == "doi:10.1/a%41"
    assert ANY.pid(str(once)) == once


@pytest.mark.parametrize(
    "text",
    [
        "arXiv:2101.00001",
        "ark:/12148/bpt6k107371t",
        "http://x.example:80/a:b",
        "urn:nbn:de:101:1-2",
    ],
)
def test_other_identifiers_in_a_socionet_or_repec_list_are_hashed(text: str) -> None:
    assert SOCIONET.pid(text) == REPEC.pid(text) == ANY.pid(text)
    assert SOCIONET.inverse(ANY.pid(text).path) == ANY.pid(text)


def test_a_socionet_archive_called_any_takes_no_path_of_a_hashed_pid() -> None:
    hashed = SOCIONET.pid("arXiv:1")
    _, first, second, name = hashed.path.split("/")
    twin = SOCIONET.pid(f"any:{first}:{second}:arXiv:1")
    assert twin.path != hashed.path
    assert SOCIONET.inverse(twin.path) == twin
    assert name == "ar%58iv%3A1"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("any", ""),
        ("any", "_warc"),
        ("RePEc", "_warc"),
        ("any", "a b"),
        ("any", "a\u2028b"),
        ("any", "a\u00a0b"),
        ("any", "a\x00"),
        ("any", "a\x85"),
        ("any", "a\x7f"),
        ("any", "\ufeffa"),
        ("any", "a\ufffd"),
        ("any", "https://doi.org/10.1/a%20b"),
        ("any", "https://doi.org/10.1/a%ff"),
        ("any", "doi:10.1/"[:-1] + "\n"),
        ("RePEc", "RePEc"),
        ("RePEc", "RePEc:"),
        ("RePEc", "RePEc:a:b"),
        ("RePEc", "RePEc:a:b:"),
        ("RePEc", "RePEc::b:c"),
        ("RePEc", "repec:a::c"),
        ("RePEc", "RePEc:a:b:c "),
        ("RePEc", " RePEc:a:b:c"),
        ("Socionet", "spz:a:b"),
        ("Socionet", "spz:a:b:"),
        ("Socionet", ":a:b:c"),
        ("Socionet", "spz"),
    ],
)
def test_refused(name: str, text: str) -> None:
    with pytest.raises(BadPid):
        SCHEMES[name].pid(text)


def test_a_lone_surrogate_is_refused() -> None:
    for scheme in SCHEMES.values():
        with pytest.raises(BadPid, match=r"U\+D800"):
            scheme.pid("RePEc:a:b:\ud800")


def test_a_refusal_is_one_short_printable_line() -> None:
    with pytest.raises(BadPid) as refusal:
        REPEC.pid("RePEc:a:b:" + "x" * 100_000 + "\n\x1b[31m")
    assert len(str(refusal.value)) < 400
    assert str(refusal.value).isprintable()
    with pytest.raises(BadPid, match=r"fewer than four parts"):
        REPEC.pid("RePEc:a:b")
    with pytest.raises(BadPid, match=r"U\+0020"):
        REPEC.pid("RePEc:a:b:c d")


@pytest.mark.parametrize("length", [199, 200, 201, 5000])
def test_a_long_component_is_cut_at_200_bytes(length: int) -> None:
    pid = REPEC.pid("RePEc:abc:wpaper:" + "x" * length)
    name = pid.path.split("/")[3]
    if length <= 200:
        assert REPEC.inverse(pid.path) == pid
        assert len(name) == length
    else:
        assert REPEC.inverse(pid.path) is None
        assert re.fullmatch(r"x{166}%%[0-9a-f]{32}", name)


@pytest.mark.parametrize("shift", [0, 1, 2])
def test_a_cut_is_never_inside_an_escape(shift: int) -> None:
    name = REPEC.pid("RePEc:abc:wpaper:" + "x" * shift + "é" * 100).path.split("/")[3]
    head, _, digits = name.partition("%%")
    assert re.fullmatch(r"x*(?:%[0-9A-F]{2})+", head)
    assert 164 <= len(head) <= 166
    assert len(digits) == 32


@pytest.mark.parametrize("scheme", [REPEC, ANY])
def test_a_pid_fits_into_a_line_of_a_warc(scheme: Scheme) -> None:
    assert scheme.pid("RePEc:abc:wpaper:" + "x" * 8_175)
    with pytest.raises(BadPid, match="over 8192 bytes"):
        scheme.pid("RePEc:abc:wpaper:" + "ü" * 4_088)


def test_long_pids_that_differ_at_the_end_have_paths_of_their_own() -> None:
    long = "RePEc:abc:wpaper:" + "x" * 300
    assert REPEC.pid(long + "1").path != REPEC.pid(long + "2").path
    assert ANY.inverse(ANY.pid(long).path) is None
    assert REPEC.inverse(REPEC.pid(f"RePEc:{'a' * 300}:{'b' * 300}:{'c' * 300}").path) is None


CUT = "x" * 166 + "%%" + "0" * 32


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("RePEc", ""),
        ("RePEc", "RePEc"),
        ("RePEc", "RePEc/a/b"),
        ("RePEc", "RePEc/a/b/c/d"),
        ("RePEc", "/RePEc/a/b/c"),
        ("RePEc", "RePEc/a/b/c/"),
        ("RePEc", "RePEc//b/c"),
        ("RePEc", "RePEc/../b/c"),
        ("RePEc", "RePEc/./b/c"),
        ("RePEc", "RePEc/A/b/c"),
        ("RePEc", "RePEc/a/b/C"),
        ("RePEc", "RePEc/con/b/c"),
        ("RePEc", "RePEc/a/b/%61"),
        ("RePEc", "RePEc/a/b/%3a"),
        ("RePEc", "RePEc/a/b/%3"),
        ("RePEc", "RePEc/a/b/%%"),
        ("RePEc", "RePEc/a/b/%FF"),
        ("RePEc", "RePEc/a/b/%20"),
        ("RePEc", "RePEc/a/b%3Ax/c"),
        ("RePEc", "RePEc/%41/b/c"),
        ("RePEc", "repec/a/b/c"),
        ("RePEc", "spz/a/b/c"),
        ("RePEc", "RePEc/a/b/" + "x" * 201),
        ("RePEc", f"spz/a/b/{CUT}"),
        ("RePEc", f"RePEc/A/b/{CUT}"),
        ("RePEc", f"any/zz/00/{CUT}"),
        ("RePEc", "RePEc/a/b/x%%" + "0" * 32),
        ("any", "any/00/00/arxiv"),
        ("any", "RePEc/a/b/c"),
        ("any", f"RePEc/a/b/{CUT}"),
        ("any", REPEC.pid("x").path.replace("any/", "ANY/")),
        ("Socionet", "any/a/b/c"),
    ],
)
def test_a_path_of_no_pid_is_refused(name: str, path: str) -> None:
    with pytest.raises(BadPid):
        SCHEMES[name].inverse(path)


def test_a_repec_pid_hashed_by_any_is_no_path_of_repec() -> None:
    with pytest.raises(BadPid):
        REPEC.inverse(ANY.pid("RePEc:a:b:c").path)


def test_pid_is_a_value() -> None:
    one, two = REPEC.pid("repec:a:b:1"), REPEC.pid("RePEc:A:B:1")
    assert one == two
    assert len({one, two}) == 1
    assert pickle.loads(pickle.dumps(one)) == one
    pids = [REPEC.pid(f"RePEc:a:b:{c}") for c in "zaM%"]
    assert [str(p) for p in sorted(pids)] == sorted(map(str, pids))
    assert isinstance(one, Pid)


UGLY = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="aAbZ:./~%-_!'()\\*?\"<>|0129 éÉİſKΣςß\u0301", max_size=40),
    st.sampled_from(
        ["con", "CON", "con.x", "nul.", "com1", "com\u00b9", "..", ".", "~", "any", "repec"]
    ),
    st.text(alphabet="xé:Q", min_size=150, max_size=260),
)
TEXTS = st.one_of(
    UGLY,
    st.tuples(
        st.sampled_from(["RePEc", "repec", "spz", "any", "doi", "con"]), UGLY, UGLY, UGLY
    ).map(":".join),
    UGLY.map(lambda s: f"https://doi.org/10.1/{s}"),
)


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
@given(text=TEXTS)
def test_round_trip(scheme, text: str) -> None:
    try:
        pid = scheme.pid(text)
    except BadPid:
        return
    assert scheme.pid(str(pid)) == pid
    names = pid.path.split("/")
    assert len(names) == 4
    for name in names:
        assert 1 <= len(name.encode()) <= 200
        assert name not in (".", "..")
        assert name[0] not in ".~"
        assert not re.match(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)", name) or (
            name[:4] in ("com0", "lpt0")
        )
    assert not any(name.endswith(".") for name in names[:3])
    assert re.fullmatch(r"(RePEc/|any/)?[a-z0-9\-_.!~'()%A-F/]+", pid.path)
    assert scheme.inverse(pid.path) == (None if "%%" in pid.path else pid)


@given(
    st.lists(
        st.text(alphabet="a1-_.~'!", min_size=1, max_size=4)
        | st.sampled_from(["con", "con.x", "nul.", "a.", "wpaper", "A", "x" * 200, "x" * 201]),
        min_size=3, max_size=4,
    ).map(lambda parts: ":".join(["RePEc", *parts]))
)  # fmt: skip
def test_a_plain_handle_gets_the_path_that_its_parts_make(text: str) -> None:
    _, *parts = text.split(":", 3)
    if len(parts) == 3 and all(parts):
        archive, series, number = parts
        names = [component(archive.lower()), component(series.lower())]
        path = "/".join(["RePEc", *names, component(number, folder=False)])
        assert REPEC.pid(text).path == path


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
@given(texts=st.lists(TEXTS, max_size=8))
def test_no_two_pids_on_one_path_of_a_case_blind_disk(scheme, texts: list[str]) -> None:
    by_path: dict[str, str] = {}
    for text in [*texts, *(t.swapcase() for t in texts), *(t.upper() for t in texts)]:
        try:
            pid = scheme.pid(text)
        except BadPid:
            continue
        assert by_path.setdefault(pid.path.lower(), str(pid)) == str(pid)


@given(
    path=st.one_of(st.text(max_size=40), TEXTS.map(lambda t: ANY.parse(t.replace(":", "/")).path))
)
def test_inverse_of_anything_is_right_or_refused(path: str) -> None:
    for scheme in SCHEMES.values():
        try:
            pid = scheme.inverse(path)
        except BadPid:
            continue
        assert pid is None or pid.path == path


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
@given(
    text=st.text(st.sampled_from("RePEcrepc:::abz019-_.A%~/ é\t"), max_size=30).map(
        "RePEc:".__add__
    )
)
def test_the_text_alone_is_that_of_the_pid(scheme: Scheme, text: str) -> None:
    try:
        wanted = scheme.pid(text).text
    except BadPid:
        with pytest.raises(BadPid):
            scheme.text(text)
    else:
        assert scheme.text(text) == wanted
