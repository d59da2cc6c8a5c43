"""Futs as files: names that people can use, nothing written twice, nothing over what is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.errors import BadWarc
from lafka.papers.archive.copy_out import name_of, put_into
from tests.stores import PID, Store, pdf


@pytest.mark.parametrize(
    ("pid", "name"),
    [
        ("RePEc:abc:wpaper:1", "RePEc_abc_wpaper_1"),
        ("doi:10.1000/a(b)c", "doi_10.1000_a_b_c"),
        ("RePEc:abc:wpaper:../../etc", "RePEc_abc_wpaper_.._.._etc"),
        ("RePEc:abc:wpaper:ä", "RePEc_abc_wpaper"),
        ("://", "paper"),
    ],
)
def test_names_are_those_of_pids(pid: str, name: str) -> None:
    assert name_of(pid) == name


def test_a_label_is_in_the_name() -> None:
    assert name_of(PID, "supplement") == "RePEc_abc_wpaper_1.supplement"


@given(st.text(min_size=1, max_size=9000))
def test_no_pid_leads_out_of_the_folder_or_is_too_long(pid: str) -> None:
    name = name_of(pid)
    assert "/" not in name
    assert not name.startswith((".", "-"))
    assert 0 < len(name) < 200
    assert name.isascii()


def test_each_fut_gets_a_file_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "archive")
    store.put(store.fut(pdf(1)))
    store.put(store.fut(pdf(2), futli="https://other.example/2"))
    store.put(store.fut(pdf(3), pid="RePEc:abc:wpaper:ä"))
    store.put(store.fut(pdf(4), pid="RePEc:abc:wpaper:ö"))
    folder = tmp_path / "pdfs"
    folder.mkdir()
    (folder / "RePEc_abc_wpaper.pdf").write_bytes(b"a stranger's")
    for expected in (True, False):
        found = [put_into(folder, fut) for fut in store.archive.futs()]
        assert [written for _, written in found] == [expected] * 4
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "RePEc_abc_wpaper.pdf": b"a stranger's",
        "RePEc_abc_wpaper-2.pdf": pdf(3),
        "RePEc_abc_wpaper-3.pdf": pdf(4),
        "RePEc_abc_wpaper_1.pdf": pdf(1),
        "RePEc_abc_wpaper_1-2.pdf": pdf(2),
    }


def test_a_fut_that_is_not_what_it_was_gets_no_name_of_a_fut(tmp_path: Path) -> None:
    store = Store(tmp_path / "archive")
    store.put(store.fut(pdf(1)))
    fut = store.archive.fut(PID)
    with store.warc().open("r+b") as warc:
        warc.seek(fut.start + 20)
        warc.write(b"!")
    with pytest.raises(BadWarc):
        put_into(tmp_path, fut)
    assert not (tmp_path / "RePEc_abc_wpaper_1.pdf").exists()
