"""The text of which checksums are taken: what is a change, and what is none (D12)."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.archec.store import pages, texts

TEMPLATE = (
    "Template-Type: ReDIF-Paper 1.0\nTitle: Coûts\nAuthor-Name: Ana Lima\n"
    "File-URL: http://x.example/p/1\nFile-Format: application/pdf\nHandle: RePEc:ABC:wpaper:1\n"
)
TEXT = TEMPLATE.encode()


@pytest.mark.parametrize(
    "data",
    [
        TEXT,
        TEMPLATE.encode("cp1252"),
        TEXT.replace(b"\n", b"\r\n"),
        TEXT.replace(b"\n", b"\r"),
        TEXT.rstrip(b"\n"),
        TEXT + b"\n \t\n\n",
        b"\xef\xbb\xbf" + TEXT,
        TEXT.replace(b"Author", b"# exported on Monday\nAuthor"),
        TEXT + b"#Template-Type: ReDIF-Paper 1.0\n\n",
        TEXT.replace(b"\n", b"\n\xef\xbb\xbf", 1),
        TEXT.replace(b"File-Format", b"# caf\xe9\r\nFile-Format"),
    ],
)
def test_encoding_line_ends_comments_and_blanks_at_the_end_are_no_change(data):
    assert texts.template_text(data) == TEXT


@pytest.mark.parametrize(
    "data",
    [
        TEXT.replace(b"Lima", b"lima"),
        TEXT.replace(b"\nAuthor", b"\n\nAuthor"),
        TEXT.replace(b"Title:", b"Title: "),
        TEXT.replace(b"Ana", b"\xef\xbb\xbfAna"),
        TEXT.replace(b"Ana", b"#Ana"),
        TEXT.replace(b"Author", b" # no comment\nAuthor"),
    ],
)
def test_anything_else_is(data):
    assert texts.template_text(data) != TEXT


@given(st.binary(max_size=300))
def test_the_text_of_a_text_is_itself(data):
    once = texts.template_text(data)
    assert once.endswith(b"\n")
    if not any(line.startswith((b"#", b"\xef\xbb\xbf")) for line in once.split(b"\n")):
        assert texts.template_text(once) == once


@given(st.binary(max_size=50), st.sampled_from([b"", b"\n", b" \n\n", b"#\n"]))
def test_checksums_are_of_the_bytes_and_of_their_text(data, more):
    sums, text = texts.of_template(data + more), texts.template_text(data + more)
    assert sums.sha256 == hashlib.sha256(data + more).hexdigest()
    assert sums.text_sha256 == hashlib.sha256(text).hexdigest()
    assert sums.md5 == hashlib.md5(text, usedforsecurity=False).hexdigest()


def test_the_text_of_a_page_is_what_it_says():
    page = b"""<!DOCTYPE html><html><head><title>T</title><style>x{}</style></head>
      <body><p>One <b>two</b>\n three</p><script>var token = 1</script><noscript>no</noscript>
      <!-- 17 visitors --><template>t</template>four<p>f\xc3\xa9</body></html>"""
    utf8 = page.replace(b"<title>", b"<meta charset=utf-8><title>")
    assert pages.page_text(utf8).decode() == "One two three four fé"


def test_a_page_of_other_tokens_has_the_same_text():
    two = [b"<body><script>t=%d</script><p class=c%d>Text</p></body>" % (n, n) for n in (1, 2)]
    assert len({pages.of_file(page, is_page=True).md5 for page in two}) == 1
    assert len({pages.of_file(page, is_page=False).md5 for page in two}) == 2


@pytest.mark.parametrize("data", [b"", b"<!-- -->", b"\0\0", b"<html></html>", b"\xff\xfe<"])
def test_a_page_that_says_nothing_has_a_text_all_the_same(data):
    assert isinstance(pages.page_text(data), bytes)
