from __future__ import annotations

import io
import pickle
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lafka.archec import redif

REAL = Path(__file__).parents[4] / "shared" / "redif"

PAPER = """\
Template-Type: ReDIF-Paper 1.0
Author-Name: Ana Lima
Author-Email: ana@x.example
Author-Workplace-Name: Institute of Costs
Author-Workplace-Homepage: http://x.example/
Author-Workplace-Name: University of Prices
Author-Name: Bo Ek
Title: Costs,
 and what they
  cost
Abstract: The first line.
The second line, at column one.

The third, behind a blank line.
# no line at all
File-URL: http://x.example/a?b=
  1&c=2
File-Format: application/pdf
File-Function: Full text
File-Size: 120
File-Restriction: subscribers only
FILE-URL: http://x.example/d
handle: RePEc:ABC:wpaper:
  1
"""


def only(data: bytes | str) -> redif.Template:
    [template] = redif.read(data if isinstance(data, bytes) else data.encode(), "a.rdf")
    return template


def test_a_paper_has_its_fields_clusters_and_files() -> None:
    paper = only(PAPER)
    assert (paper.type, paper.offset, paper.line, paper.encoding) == ("paper", 0, 1, "utf-8")
    assert paper.data == PAPER.encode()
    assert paper.length == len(PAPER)
    assert str(paper.handle) == "RePEc:abc:wpaper:1"
    assert paper.first("title") == "Costs, and what they cost"
    assert paper.first("Abstract") == (
        "The first line. The second line, at column one. The third, behind a blank line."
    )
    assert paper.fields[7] == redif.Field("Title", "Costs, and what they cost", 8)
    assert paper.all("AUTHOR-NAME") == ["Ana Lima", "Bo Ek"]
    assert paper.first("Series") is None
    assert paper.problems == ()
    ana, bo = paper.authors()
    assert ana.first("Name") == "Ana Lima"
    assert ana.all("Workplace-Name") == ["Institute of Costs", "University of Prices"]
    assert bo.first("Email") is None


def test_the_files_of_a_template() -> None:
    first, second = only(PAPER).files()
    assert (first.n, first.url, first.line) == (1, "http://x.example/a?b=1&c=2", 16)
    assert [reading.uri for reading in first.uris] == ["http://x.example/a?b=1&c=2"]
    assert (first.format, first.function) == ("application/pdf", "Full text")
    assert (first.size, first.restriction) == (120 * 1024, "subscribers only")
    assert (second.n, second.url, second.format, second.restriction) == (
        2,
        "http://x.example/d",
        None,
        None,
    )


@pytest.mark.parametrize(
    ("first_line", "kind"),
    [
        ("Template-Type: ReDIF-Paper 1.0", "paper"),
        ("template-type:redif-ARTICLE 1.0", "article"),
        ("TEMPLATE-TYPE : ReDIF-Chapter", "chapter"),
        ("  Template-Type:\tReDIF-Book1.0", "book"),
        ("Template-Type:\n ReDIF-Software 1.0", "software"),
        ("Template-Type: ReDIF-Archive: 1.0", "archive"),
        ("Template-Type: Series", "series"),
        ("Template-Type: ReDIF-Mirror 1.0", "mirror"),
        ("Template-Type: ReDIF-Person 1.0", "person"),
        ("Template-Type: ReDIF-Institution 1.0", "institution"),
        ("Template-Type ReDIF-Paper 1.0", "paper"),
        ("Template_Type: ReDIF-Paper 1.0", "paper"),
        ("Template-Type:", "handle"),
        ("Template-Type: ReDIF-Thesis 1.0", "thesis"),
    ],
)
def test_the_type_of_a_template(first_line: str, kind: str) -> None:
    template = only(f"{first_line}\nHandle: RePEc:abc:wpaper:1\n")
    assert template.type == kind
    assert template.handle
    assert (kind in redif.TYPES) == ("unknown-type" not in [p.code for p in template.problems])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_are_all_the_same(end: str) -> None:
    data = (PAPER * 2).replace("\n", end).encode()
    first, second = redif.read(data)
    assert first.fields == only(PAPER).fields
    assert [(f.name, f.value) for f in second.fields] == [(f.name, f.value) for f in first.fields]
    assert second.line == 1 + PAPER.count("\n")
    assert data[second.offset :] == second.data


def test_where_templates_begin_and_end() -> None:
    data = b"""\
# Template-Type: ReDIF-Paper 1.0
#Template-Type: ReDIF-Paper 1.0

Template-Type: ReDIF-Paper 1.0
Abstract: The Template-Type of a paper is ReDIF-Paper.
Note: X-Template-Type: ReDIF-Paper 1.0
# exported Template-Type: ReDIF-Paper 1.0

\xef\xbb\xbftemplate-type: ReDIF-Paper 1.0
Title: OneTemplate-Type: ReDIF-Paper 1.0
Title: Two
# at the end
"""
    found = [template.data.splitlines()[0] for template in redif.read(data)]
    assert found == [
        b"Template-Type: ReDIF-Paper 1.0",
        b"template-type: ReDIF-Paper 1.0",
        b"Template-Type: ReDIF-Paper 1.0",
    ]
    first, second, third = redif.read(data)
    assert first.data.endswith(b"1.0\n\n")
    assert second.first("Title") == "One"
    assert (third.line, third.first("Title")) == (10, "Two")
    assert third.data.endswith(b"# at the end\n")


def test_encodings_are_told_by_line() -> None:
    head = b"Template-Type: ReDIF-Paper 1.0\n"
    for data, title, encoding in [
        (b"Title: Co\xc3\xbbts\n", "Coûts", "utf-8"),
        (b"Title: Co\xfbts\n", "Coûts", "windows-1252"),
        (b"Title: \x93Co\xfbts\x94\n", "“Coûts”", "windows-1252"),
        (b"Title: Co\xfbts\nNote: Co\xc3\xbbts\n", "Coûts", "mixed"),
        (b"Title: \x81\n", "\x81", "windows-1252"),
    ]:
        template = only(head + data)
        assert (template.first("Title"), template.encoding) == (title, encoding)


@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_turned_to_utf_8(order: str) -> None:
    text = "\ufeff" + (PAPER + "Note: ü\n") * 2
    first, second = redif.read(text.encode(order))
    assert first.data == second.data == (PAPER + "Note: ü\n").encode()
    assert (first.offset, second.offset, first.encoding) == (None, None, "utf-8")
    assert second.line == 1 + (PAPER + "Note: ü\n").count("\n")


def test_a_bom_at_the_start_is_of_no_template() -> None:
    template = only(b"\xef\xbb\xbf" + PAPER.encode())
    assert template.offset == 3
    assert template.data == PAPER.encode()


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"#", b"\xef\xbb\xbf", b"\xff\xfe", b"\xff", b"\x00", b"T", b"\r\n# x\r"]
)
def test_files_of_next_to_nothing_have_no_template(data: bytes) -> None:
    assert list(redif.read(data)) == []


def test_a_long_stream_is_read_as_bytes_are() -> None:
    assert list(redif.read(io.BytesIO(PAPER.encode() * 6000)))[-1].data == PAPER.encode()


def test_what_reading_raises_goes_through_and_gives_no_torn_template() -> None:
    class Failing(io.BytesIO):
        def read(self, size=-1, /):
            if not (data := super().read(2_000)):
                raise OSError(5, "no")
            return data

    given = []

    def take_all() -> None:
        given.extend(redif.read(Failing(PAPER.encode() * 3)))

    with pytest.raises(OSError, match="no"):
        take_all()
    assert [template.data for template in given] == [PAPER.encode()] * 2


def test_conflicting_names_are_taken_for_what_they_are_nearest_to() -> None:
    template = only(
        "Template-Type: ReDIF-Paper 1.0\nAUTHOR-name: A\nAuthor_Name: B\nKeyword: c\n"
        "Classification-XYZ: d\nX-Local: e\nTitel: f\nhttp://x.example/g\n"
    )
    assert [(field.name, field.value) for field in template.fields[1:]] == [
        ("Author-Name", "A"),
        ("Author-Name", "B"),
        ("Keywords", "c"),
        ("Classification-XYZ", "d"),
        ("X-Local", "e"),
        ("Title", "f http://x.example/g"),
    ]


def test_a_url_on_its_own_line_is_the_value_of_the_field_before_it() -> None:
    [file] = only("Template-Type: ReDIF-Paper 1.0\nFile-URL:\nhttp://x.example/1\n").files()
    assert file.url == "http://x.example/1"


def test_an_unknown_field_does_not_run_into_a_url() -> None:
    template = only("Template-Type: ReDIF-Paper 1.0\nFile-URL: http://x.example/1\nSeen: often\n")
    assert template.files()[0].url == "http://x.example/1"
    assert template.first("Seen") == "often"


def test_a_url_that_goes_on_with_a_colon_is_one() -> None:
    template = only(
        "Template-Type: ReDIF-Paper 1.0\nFile-URL: http://x.example/hdl\n/10419:12\nabc:34\n"
    )
    assert template.files()[0].url == "http://x.example/hdl/10419:12abc:34"


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("120", 122_880),
        ("120 bytes", 120),
        ("1.5 MB", 1_572_864),
        ("120kb", 122_880),
        ("120 Kbytes", 122_880),
        ("large", None),
        ("", None),
        ("9" * 30, None),
    ],
)
def test_the_size_of_a_file(value: str, size: int | None) -> None:
    template = only(
        f"Template-Type: ReDIF-Paper 1.0\nFile-URL: http://x.example/1\nFile-Size: {value}\n"
    )
    assert template.files()[0].size == size


def test_institutions_and_persons_have_clusters_too() -> None:
    institution = only(
        "Template-Type: ReDIF-Institution 1.0\nHandle: RePEc:edi:abcdeus\nPrimary-Name: A\n"
        "Primary-Homepage: http://x.example/\nSecondary-Name: B\nQuaternary-Name: C\n"
    )
    assert institution.problems == ()
    assert institution.clusters("Primary")[0].first("Homepage") == "http://x.example/"
    assert [c.first("Name") for c in institution.clusters("Quaternary")] == ["C"]
    person = only(
        "Template-Type: ReDIF-Person 1.0\nHandle: RePEc:per:1965-06-05:ana_lima\n"
        "Name-Full: Ana Lima\nShort-Id: pli1\nWorkplace-Name: A\nauthor-paper: repec:abc:w:1\n"
        "author-paper: repec:abc:w:2\n"
    )
    assert person.problems == ()
    assert person.first("Short-Id") == "pli1"
    assert len(person.all("Author-Paper")) == 2


def test_a_mirror_needs_no_handle() -> None:
    mirror = only("Template-Type: ReDIF-Mirror 1.0\nArchive-Handle: RePEc:abc\n")
    assert (mirror.handle, mirror.problems) == (None, ())


ARCHIVE = "Template-Type: ReDIF-Archive 1.0\nHandle: RePEc:abc\nRestriction: {}\n"
SERIES = "Template-Type: ReDIF-Series 1.0\nHandle: RePEc:abc:wpaper\nRestriction: {}\n"
OWN = (
    "Template-Type: ReDIF-Paper 1.0\nHandle: RePEc:abc:wpaper:1\nRestriction: {}\n"
    "File-URL: http://x.example/1\nFile-Restriction: {}\n"
)


@pytest.mark.parametrize(
    ("archive", "series", "template", "file", "restriction"),
    [
        ("", "", "", "", None),
        ("a", "", "", "", "a"),
        ("a", "s", "", "", "s"),
        ("a", "s", "t", "", "t"),
        ("a", "s", "t", "f", "f"),
        ("a", "none", "", "", None),
        ("a", "s", "No restrictions", "", None),
        ("a", "s", "t", "Open Access", None),
        ("none", "", "", "", None),
    ],
)
def test_the_nearest_restriction_counts(archive, series, template, file, restriction) -> None:
    said = redif.Restrictions()
    for enclosing in (ARCHIVE.format(archive), SERIES.format(series)):
        said.add(only(enclosing))
    paper = only(OWN.format(template, file))
    assert said.of(paper.handle, paper.files()[0]) == restriction


def test_a_fingerprint_is_of_the_fields_alone() -> None:
    text = "Template-Type: ReDIF-Paper 1.0\nTitle: Coûts\n"
    same = text.replace("\n", "\r\n").replace("Title:", "# exported\r\ntitle: ").encode("cp1252")
    assert only(same).fingerprint == only(text).fingerprint
    assert only(text.replace("ts", "t")).fingerprint != only(text).fingerprint


def test_templates_survive_pickle() -> None:
    template = only(PAPER)
    assert pickle.loads(pickle.dumps(template)) == template


LINES = st.sampled_from(
    [
        b"Template-Type: ReDIF-Paper 1.0",
        b"template-type : redif-series",
        b"Handle: RePEc:abc:w:1",
        b"File-URL: http://x.example/a b",
        b"File-URL: \xff\xfe",
        b"File-Format: application/pdf",
        b"Auhtor-Name: A",
        b"Abstract: a",
        b"Results: b",
        b"Foo: c",
        b"#Template-Type: ReDIF-Paper",
        b"xTemplate-Type: ReDIF-Paper",
        b"\xef\xbb\xbfTemplate-Type: ReDIF-Paper",
        b"late-type: redif-book",
        b" goes on",
        b"<<<<<<< HEAD",
        b"http://x.example/",
        b"",
        b":",
        b"\x00\x1a",
        b"Co\xc3\xbbts",
        b"Co\xfbts",
    ]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r", b"\n\n"])
FILES = st.lists(st.tuples(LINES | st.binary(max_size=20), ENDS), max_size=30).map(
    lambda lines: b"".join(line + end for line, end in lines)
)


@given(FILES | st.binary(max_size=200))
@example(b"\xff\xfeT\x00")
@example(b"\nTemplate-Type")
@example(b"Template-Type: ReDIF-Paper\rTemplate-Type: ReDIF-Paper")
def test_whatever_the_bytes_templates_are_parts_of_them_in_order(data: bytes) -> None:
    at = 0
    reader = redif.read(data, "a.rdf")
    for template in reader:
        if template.offset is not None:
            assert template.offset >= at
            at = template.offset + template.length
            assert data[template.offset : at] == template.data
            before = data[: template.offset]
            ends = before.replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n")
            assert template.line == ends + 1
        assert len(template.fields) == len({(f.name, f.line) for f in template.fields})
        assert template.files() is not None
        assert template.authors() is not None
        assert all(str(problem).isprintable() for problem in template.problems)
    assert all(str(problem).isprintable() for problem in reader.problems)


@given(FILES, st.integers(1, 40))
@example(PAPER.encode() * 3, 11)
def test_however_the_bytes_come_the_templates_are_the_same(data: bytes, size: int) -> None:
    class Dripping(io.BytesIO):
        def read(self, wanted=-1, /):
            return super().read(min(wanted, size))

    assert list(redif.read(Dripping(data))) == list(redif.read(data))


def grep(data: bytes, pattern: bytes) -> list[bytes]:
    lines = re.split(rb"\r\n|\r|\n", data)
    return [line for line in lines if re.search(pattern, line, re.IGNORECASE)]


def real() -> list[Path]:
    return sorted(REAL.glob("*.rdf"))


@pytest.mark.skipif(not real(), reason="the real files are not here")
def test_real_files_have_no_template_fewer_than_a_grep_finds() -> None:
    for path in real():
        data = path.read_bytes()
        templates = list(redif.read(data, path.name))
        assert len(templates) >= len(grep(data, rb"^(?!#).*template-type")), path
        urls = sum(len(template.files()) for template in templates)
        assert urls == len(grep(data, rb"^[ \t]*file-url[ \t]*:")), path
        handles = [template.handle for template in templates if template.handle]
        assert len(handles) >= len(templates) - 1, path


def test_names_that_differ_by_case_are_one_name():
    data = b"Template-Type: ReDIF-Paper 1.0\nAuthor-Name: A\nAUTHOR-NAME: B\nauthor-name: C\n"
    [template] = redif.read(data)
    assert template.all("Author-Name") == ["A", "B", "C"]
    assert template.first("AUTHOR-NAME") == "A"
