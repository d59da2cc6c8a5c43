"""Letters to maintainers: findings by cause, what is new, a folder of letters for all archives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lafka.archec.redif.vocabulary import CODES
from lafka.archec.statistics import YEAR, check_archive
from lafka.errors import BadArgument
from lafka.reports.obi_letters import (
    _NOT_THEIRS,
    _REMEDIES,
    Letter,
    archives_of,
    letter_of,
    write_letters,
)
from tests.archec.fobis import gather, two_archives, url
from tests.archec.stores import DAY, START, Home, template


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Two archives; abc has a misspelt field, a duplicate and a lost file; xyz is sound."""
    more = {"abc/wpaper/3.rdf": template(5, more="Titel: y\n")}
    made = two_archives(tmp_path / "archec", more)
    files = {url("abc", n): f"%PDF-1.4 {n}".encode() for n in (1, 2)}
    gather(made, START + 5 * DAY, files | {url("xyz", 1): b"%PDF-1.4 x"})
    gather(made, START + 2 * YEAR, {}, lost=(url("abc", 1),))
    return made


def letter(home: Home, archive: str = "abc") -> Letter:
    with home.records() as records:
        return letter_of(records, archive)


def letters(home: Home, folder: Path) -> dict[str, Letter]:
    with home.records() as records:
        return {one.archive: one for one in write_letters(records, folder, archives_of(records))}


def test_causes_have_a_count_an_example_and_since_when(home: Home):
    text = letter(home).text("abc.html")
    assert text == letter(home).text("abc.html")
    lines = text.splitlines()
    assert lines[0] == "About the RePEc archive abc, as of 2014-11-10"
    place = lines.index(next(line for line in lines if line.startswith("misspelt-field (2): ")))
    assert lines[place + 1].startswith("  for example RePEc/abc/wpaper/2.rdf, line ")
    assert text.count("misspelt-field") == 1
    assert "duplicate-handle (1): " in text
    gone = "lost, gone (1, since 2014-11-10): The server says that the file is gone (410). "
    place = lines.index(f"{gone}Write the URL that the file has now.")
    assert lines[place + 1] == f"  RePEc:abc:wpaper:1 File-URL 1: {url('abc', 1)}"
    assert url("abc", 2) not in text
    assert "xyz" not in text
    assert lines[-1] == "Each place, with its line and URL: abc.html"


def test_a_letter_without_a_page_has_every_place(home: Home):
    text = letter(home).text()
    assert "RePEc/abc/wpaper/2.rdf, line " in text
    assert "RePEc/abc/wpaper/3.rdf, line " in text
    assert "for example" not in text


def test_a_sound_archive_has_nothing_to_mend(home: Home):
    text = letter(home, "xyz").text()
    assert "Nothing is odd in its templates." in text
    assert "Every link that was asked for leads to its file." in text
    with home.records() as records:
        for code in ("ABC", "xyz", ""):
            check_archive(records, code)
        with pytest.raises(BadArgument, match="--archive none: the store has no template of that"):
            check_archive(records, "none")


def test_links_that_were_not_asked_for_are_not_said_to_lead_anywhere(home: Home):
    bare = template(1, "bare").replace("File-URL: ", "Note: ")
    home.put({"xyz/wpaper/9.rdf": template(9, "xyz"), "few/wpaper/1.rdf": template(1, "few"),
              "bare/wpaper/1.rdf": bare})  # fmt: skip
    home.tobi(at=START + 3 * YEAR)
    asked = "Every link that was asked for leads to its file"
    assert f"\n{asked}; 1 was not asked for yet.\n" in letter(home, "xyz").text()
    assert "\nNo link was asked for yet.\n" in letter(home, "few").text()
    assert "\nIt names no file to be asked for.\n" in letter(home, "bare").text()


def test_letters_for_all_archives_say_what_is_new_and_what_was_mended(home: Home, tmp_path: Path):
    folder = tmp_path / "letters"
    assert list(letters(home, folder)) == ["abc"]  # of xyz there is nothing to say
    assert sorted(path.name for path in folder.iterdir()) == ["abc.html", "abc.json", "abc.txt"]
    assert "Since the letter" not in (folder / "abc.txt").read_text()
    page = (folder / "abc.html").read_text()
    assert page.count("<td>RePEc/abc/wpaper/") == sum(one.line > 0 for one in letter(home).findings)
    assert "<script" not in page

    home.now = START + 3 * YEAR
    home.put({
        "abc/wpaper/2.rdf": "\n\n" + template(4) + template(1, title="Other"),  # mended, and moved
        "abc/wpaper/4.rdf": template(6, more="Author-Nam: z\n"),
    })  # fmt: skip
    home.tobi()
    home.now = START + 3 * YEAR
    for _ in range(2):  # written again without a gathering since, it says the same
        found = letters(home, folder)["abc"]
        text = (folder / "abc.txt").read_text()
        assert "Since the letter of 2014-11-10: 1 new, 2 mended." in text
        assert (sum(map(found.is_new, found.findings)), found.mended) == (1, 2)
        assert "misspelt-field (2, 1 new): " in text
        assert "  for example RePEc/abc/wpaper/4.rdf, line " in text


def test_an_archive_that_was_mended_gets_a_last_letter(home: Home, tmp_path: Path):
    letters(home, tmp_path)
    home.now = START + 3 * YEAR
    home.put({f"abc/wpaper/{n}.rdf": template(n + 1) for n in (1, 2, 3)})
    home.tobi()
    text = (letters(home, tmp_path), (tmp_path / "abc.txt").read_text())[1]
    assert "0 new, " in text
    assert "Nothing is odd in its templates." in text
    home.now += DAY
    home.tobi()
    assert letters(home, tmp_path) == {}


@pytest.mark.parametrize(("name", "text"), [("abc.txt", "mine"), ("abc.json", "{}")])
def test_files_of_something_else_are_left_alone(home: Home, tmp_path: Path, name: str, text: str):
    (tmp_path / name).write_text(text)
    with pytest.raises(BadArgument, match=r"abc.* of ours"):
        letters(home, tmp_path)
    assert (tmp_path / name).read_text() == text


def test_each_code_that_is_a_maintainers_says_what_mends_it():
    assert CODES.keys() == _REMEDIES.keys() | _NOT_THEIRS


class Stranger:
    """Knows the letter and the data, and nothing of ReDIF or of what was planted."""

    def __init__(self, text: str, data: Path) -> None:
        self.text, self.data = text, data

    def found(self, pattern: str) -> tuple[str, ...]:
        found = re.search(pattern, self.text, re.MULTILINE)
        assert found, self.text
        return found.groups()

    def write(self, name: str, line: str, old: str, new: str) -> None:
        """Write *new* for *old* in a line of a file; both are named by the letter."""
        path = self.data / name
        lines = path.read_text().splitlines(keepends=True)
        assert old in lines[int(line) - 1]
        lines[int(line) - 1] = lines[int(line) - 1].replace(old, new)
        path.write_text("".join(lines))

    def mend_a_name(self) -> None:
        place = r"^  (RePEc/.+), line (\d+): '(.+)' for (\S+)$"
        self.write(*self.found(r"^misspelt-field .* Write the name behind \*for\*\.$\n" + place))

    def mend_a_line_end(self) -> None:
        place = r"$\n^  (RePEc/.+), line (\d+): "
        asked = r"^glued-field .* Begin a new line before (Template-Type)\."
        name, file, line = self.found(asked + place)
        self.write(file, line, name, f"\n{name}")

    def mend_a_link(self, now: str) -> None:
        place = r"$\n^  (\S+) File-URL 1: (\S+)$"
        handle, url = self.found(r"^lost, .* Write the URL that the file has now\." + place)
        (path,) = (one for one in self.data.rglob("*.rdf") if handle in one.read_text())
        path.write_text(path.read_text().replace(url, now))


def test_a_stranger_mends_three_planted_faults_by_the_letter_alone(tmp_path: Path):
    home, folder = Home(tmp_path / "archec"), tmp_path / "letters"
    sound = {"abc/wpaper/1.rdf": template(1), "abc/wpaper/2.rdf": template(2) + template(3)}
    sound["abc/wpaper/3.rdf"] = template(4)
    home.put(sound | {
        "abc/wpaper/2.rdf": template(2).rstrip("\n") + template(3),
        "abc/wpaper/3.rdf": template(4).replace("Author-Name", "Auhtor-Name"),
    })  # fmt: skip
    home.tobi()
    files = {url("abc", n): f"%PDF-1.4 {n}".encode() for n in (1, 2, 3, 4)}
    gather(home, START + 5 * DAY, files)
    gather(home, START + 2 * YEAR, {}, lost=(url("abc", 1),))
    letters(home, folder)

    stranger = Stranger((folder / "abc.txt").read_text(), home.data.parent)
    moved = url("abc", 9)
    stranger.mend_a_name()
    stranger.mend_a_line_end()
    stranger.mend_a_link(moved)
    sound["abc/wpaper/1.rdf"] = template(1).replace(url("abc", 1), moved)
    mended = {name: (home.data / name).read_text() for name in sound}
    assert {name: text.split() for name, text in mended.items()} == {
        name: text.split() for name, text in sound.items()
    }

    home.now = START + 3 * YEAR
    home.tobi()
    gather(home, home.now + DAY, {moved: files[url("abc", 1)]})
    letters(home, folder)
    text = (folder / "abc.txt").read_text()
    assert "0 new, 3 mended." in text
    assert "Nothing is odd in its templates." in text
    assert "Every link that was asked for leads to its file." in text
