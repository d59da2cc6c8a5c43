"""Names in the place of URLs are asked for at their resolvers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.papers.lists.futlis import LineForm
from lafka.papers.lists.rows import ListRow, resolved, verdict
from lafka.pids import SCHEMES
from lafka.urls import check_url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("doi:10.1000/182", "https://doi.org/10.1000/182"),
        ("DOI: 10.1000/182", "https://doi.org/10.1000/182"),
        ("10.1000.10/A(b)<c>#d?e%f", "https://doi.org/10.1000.10/A(b)%3Cc%3E%23d%3Fe%25f"),
        ("10.1000/a b", "https://doi.org/10.1000/a%20b"),
        ("hdl:2027/spo.5", "https://hdl.handle.net/2027/spo.5"),
        ("arXiv:2101.00001v2", "https://arxiv.org/abs/2101.00001v2"),
        ("arXiv:2101.00001 [econ.EM]", "https://arxiv.org/abs/2101.00001"),
        ("arxiv:math.AG/0102001", "https://arxiv.org/abs/math.AG/0102001"),
        ("hep-th/9901001", None),
        ("10.1000", None),
        ("doi:182", None),
        ("hdl:2027", None),
        ("arXiv:2101", None),
        ("https://doi.org/10.1000/182", None),
        ("https://doi.org/doi:10.1000/182", "https://doi.org/10.1000/182"),
        ("http://dx.doi.org/DOI:%2010.1000/182", None),
        ("10.0.0.1:8000/x.pdf", None),
        ("", None),
    ],
)
def test_a_name_has_its_resolver(text: str, url: str | None) -> None:
    assert resolved(text) == url


@pytest.mark.parametrize("text", ["doi:10.1000/182", "10.1000/182", "https://doi.org/10.1000/182"])
def test_however_it_is_written_it_is_one_futli(text: str) -> None:
    row = ListRow(pid="RePEc:abc:wpaper:1", url=text, restriction="")
    line = verdict(1, row, SCHEMES["RePEc"])
    assert line.outcome is None
    assert line.futli is not None
    assert line.futli.url == "https://doi.org/10.1000/182"
    assert line.futli.as_written == text
    assert LineForm().unpack(1, LineForm().pack(line)).futli.as_written == text


@given(st.text(st.characters(blacklist_categories=("Cs",)), max_size=60))
def test_whatever_the_name_the_url_can_be_asked_for(name: str) -> None:
    for lead in ("doi:10.1000/", "hdl:20/", "arXiv:"):
        if url := resolved(lead + name):
            check_url(url)
            assert url.isascii()


@given(
    st.sampled_from(
        ["RePEc:abc:wpaper:1", "repec:Abc:w:1", " RePEc:abc:w:1", "RePEc:abc:w", "x\udcff"]
    )
    | st.text(alphabet="RePEc:ab1./ \u200b", max_size=20),
    st.sampled_from(["http://h.example/1.pdf", "https://doi.org/doi:10.1/x", " http://h.example/ "])
    | st.text(alphabet="htps:/.@ é-_x\udcff", max_size=20).map("http://h.example".__add__),
)
def test_a_plain_row_has_the_verdict_of_any_other(pid: str, url: str) -> None:
    plain = verdict(7, ListRow(pid, url), SCHEMES["RePEc"])
    other = verdict(7, ListRow(pid, url, others={"title": ""}), SCHEMES["RePEc"])
    assert plain == other
    assert repr(plain.futli) == repr(other.futli)  # what is not compared, too
