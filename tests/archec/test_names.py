"""Places in the store: tists as folders, ids as names, and back."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.archec.store import tists
from lafka.archec.store.folders import LONGEST, Names
from lafka.errors import BadArgument, BadId, BadTist

IDS = st.text(min_size=1, max_size=120).map(lambda text: f"RePEc:{text}")


def encodable(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)


CHAPTER = Path(__file__).parents[2] / "docs" / "formats.md"
PLACES = [
    (1352481230, "RePEc:nbr:nberwo:0001", "032/184/2531/RePEc%3Anbr%3Anberwo%3A0001"),
    (1394582400, "RePEc:nbr:nberwo:0001", "004/285/4931/RePEc%3Anbr%3Anberwo%3A0001"),
    (1352481230, "RePEc:nbr", "032/184/2531/RePEc%3Anbr"),
    (998877665, "RePEc:per:1965-06-05:thomas_krichel",
     "566/778/899/RePEc%3Aper%3A1965-06-05%3Athomas_krichel"),
    (1352481230, "http://www.nber.org/papers/",
     "032/184/2531/http%3A%2F%2Fwww.nber.org%2Fpapers%2F"),
    (1352481230, "https://doi.org/10.1016/S0165-1765(98)00221-9",
     "032/184/2531/https%3A%2F%2Fdoi.org%2F10.1016%2FS0165-1765%2898%2900221-9"),
]  # fmt: skip


@pytest.mark.parametrize(("tist", "obi", "path"), PLACES)
def test_places_are_those_of_the_table(tist, obi, path):
    assert f"{tists.folder(tist)}/{Names.EXACT.file_name(obi)}" == path


def test_the_table_of_the_formats_is_that_of_the_code():
    rows = re.findall(r"^\| ([0-9]{9,11}) \| `(\S+)` \| `(\S+)` \|$", CHAPTER.read_text(), re.M)
    assert [(int(tist), obi, path) for tist, obi, path in rows] == PLACES


@given(st.integers(tists.FIRST, tists.LAST))
def test_a_tist_is_read_back_from_its_folder(tist):
    assert tists.of_folder(tists.folder(tist)) == tist


@pytest.mark.parametrize("path", ["032/184/25", "32/184/2531", "032/184/253100", "032/184/2530",
                                  "a32/184/2531", "032/184", "", "032/184/2531/x"])  # fmt: skip
def test_other_folders_are_of_no_tist(path):
    assert tists.of_folder(path) is None


@pytest.mark.parametrize("value", [0, -1, 99_999_999, 100_000_000_000])
def test_a_tist_has_9_to_11_digits(value):
    with pytest.raises(BadTist, match="9 to 11 digits"):
        tists.folder(value)


@pytest.mark.parametrize(
    ("text", "tist"),
    [("1352481230", 1352481230), ("2012-11-07", 1352246400), ("2012-11-07T00:00:00", 1352246400),
     ("2012-11-07T01:00:00+01:00", 1352246400), ("998877665", 998877665)],
)  # fmt: skip
def test_a_time_is_given_as_digits_or_as_a_date(text, tist):
    assert tists.parse(text) == tist


@pytest.mark.parametrize("text", ["", "yesterday", "2012", "12345678", "9" * 40, "1601-01-01",
                                  "2012-13-01", "١٣٥٢٤٨١٢٣٠"])  # fmt: skip
def test_another_time_is_refused_in_one_sentence(text):
    with pytest.raises(BadArgument, match="no tist of 9 to 11 digits"):
        tists.parse(text)


@pytest.mark.parametrize(
    ("name", "tist"),
    [("2012-11-07.tar.gz", 1352246400), ("repec-2012-11-07", 1352246400), ("repec.tar", None),
     ("2012-11-07-to-2012-11-08.tar", None), ("2012-99-07.tar", None), ("1901-01-01.tar", None)],
)  # fmt: skip
def test_the_date_in_a_name_is_found_where_there_is_one(name, tist):
    assert tists.in_name(name) == tist


@given(IDS.filter(encodable), st.sampled_from(Names))
def test_an_id_is_read_back_from_its_name(obi, names):
    name = names.file_name(obi)
    assert len(name) <= LONGEST
    assert names.inverse(name) == (None if "%%" in name else obi)


HANDLES = st.text("ab.:~-_%", min_size=1, max_size=70).map(lambda text: f"RePEc:{text}")


@given(IDS.filter(encodable) | HANDLES)
def test_a_name_is_the_id_with_all_but_unreserved_characters_escaped(obi):
    escaped = quote(obi, safe="")
    if len(escaped) <= LONGEST:
        assert Names.EXACT.file_name(obi) == escaped


@given(IDS.filter(encodable), IDS.filter(encodable))
def test_two_ids_never_share_a_name_nor_one_that_differs_by_case_alone(one, other):
    if one != other:
        assert Names.EXACT.file_name(one) != Names.EXACT.file_name(other)
        # What a disk that is blind to case sees.
        folded = [Names.FOLDED.file_name(obi).lower() for obi in (one, other)]
        assert folded[0] != folded[1]


@pytest.mark.parametrize("count", [220, 221, 254, 255, 256, 300, 5000])
def test_a_name_of_over_255_bytes_is_cut_and_marked(count):
    obi = "http:" + "x" * (count - 7)  # the colon takes three
    name = Names.EXACT.file_name(obi)
    assert (len(name) <= 255, "%%" in name) == (True, count > 255)
    assert len(name) == min(count, 255)


def test_a_cut_splits_no_escape():
    for lead in range(9):
        name = Names.EXACT.file_name("http:" + "x" * lead + "é" * 200)
        head, mark, digits = name.partition("%%")
        assert mark
        assert len(digits) == 32
        assert len(head) in (219, 220, 221)
        assert not head.endswith("%")
        assert not head[:-1].endswith("%")


@pytest.mark.parametrize("obi", ["", ".", "..", "nbr", ".draft-1", "RePEc:", ":x", "a:\ud800"])
def test_what_can_be_no_id_is_refused(obi):
    with pytest.raises(BadId):
        Names.EXACT.file_name(obi)


@pytest.mark.parametrize("name", ["x", "RePEc:nbr", "RePEc%3anbr", "RePEc%3A%ff", "a%3Ab%41", ""])
def test_a_name_that_no_id_has_is_not_read(name):
    assert Names.EXACT.inverse(name) is None


PERL = """use URI::Escape;
binmode STDIN, ":utf8";
while (<STDIN>) { chomp; print uri_escape_utf8($_), "\\n" }
"""


def test_names_are_those_of_perls_uri_escape_utf8():
    perl = shutil.which("perl")
    version = perl and subprocess.run(
        [perl, "-MURI::Escape", "-e", "print URI::Escape->VERSION"],
        capture_output=True,
        check=False,
    )
    if not version or version.returncode:
        pytest.skip("no Perl with URI::Escape here (Debian: apt-get install liburi-perl)")
    ids = [f"RePEc:{chr(code)}x" for code in [*range(33, 0x180), 0x20AC, 0x4E2D, 0x1F600]
           if code not in (0x85, 0xA0)]  # fmt: skip
    done = subprocess.run(
        [perl, "-e", PERL], input="\n".join(ids).encode(), capture_output=True, check=True
    )
    assert done.stdout.decode().splitlines() == [Names.EXACT.file_name(obi) for obi in ids]
