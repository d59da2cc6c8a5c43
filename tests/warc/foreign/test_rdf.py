from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.warc.errors import BadValue
from lafka.warc.foreign.maff import leaves

MAFF = b"""<?xml version="1.0"?>
<RDF:RDF xmlns:MAF="http://maf.mozdev.org/metadata/rdf#"
         xmlns:RDF="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <RDF:Description RDF:about="urn:root">
    <MAF:originalurl RDF:resource="http://example.com/?a&amp;b"/>
    <MAF:title>T<!-- -->&#252;</MAF:title>
  </RDF:Description>
</RDF:RDF>"""


def test_leaves_and_their_attributes():
    url, title = leaves(MAFF)
    assert (url.name, url.attributes) == ("originalurl", {"resource": "http://example.com/?a&b"})
    assert (title.name, title.text) == ("title", "Tü")


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"<a>",
        b"<a>\xff</a>",
        b"no",
        b'<?xml version="1.0" encoding="none-such"?><a/>',
        b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
        b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        b"<a>" * 100 + b"</a>" * 100,
        b"<a>" + b"<b/>" * 20_000 + b"</a>",
        b"<a>" + b" " * (1 << 20) + b"</a>",
    ],
)
def test_what_is_no_small_document_is_refused(document):
    with pytest.raises(BadValue):
        leaves(document)


@given(st.binary())
def test_nothing_else_is_raised(data):
    with suppress(BadValue):
        list(leaves(b"<a>" + data + b"</a>"))
