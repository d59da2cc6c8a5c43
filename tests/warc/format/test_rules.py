import pytest

from lafka.warc.format.fields import Fields
from lafka.warc.format.records import Record
from lafka.warc.format.rules import faults
from lafka.warc.problems import CODES

GOOD = {
    "WARC-Type": "response",
    "WARC-Record-ID": "<urn:uuid:1>",
    "WARC-Date": "2026-11-20T10:11:12Z",
    "WARC-Target-URI": "http://x.example/",
    "Content-Length": "0",
}


def codes(items: dict[str, str], version: str = "1.1") -> list[str]:
    found = list(faults(Fields(items.items()), version))
    for code, values in found:
        assert CODES[code][1].format(**values)
    return [code for code, _ in found]


def test_a_good_header_has_no_faults() -> None:
    assert codes(GOOD) == []
    assert codes(GOOD, "1.0") == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"WARC-Type": "monkeys"}, ["unknown-type"]),
        ({"WARC-Type": "RESPONSE"}, []),
        ({"WARC-Record-ID": "urn:uuid:1"}, ["bad-record-id"]),
        ({"WARC-Date": "20261120101112"}, ["bad-date"]),
        ({"WARC-Date": "2026-11"}, []),
        ({"WARC-Date": "2026-02-30T00:00:00Z"}, ["bad-date"]),
        ({"WARC-Target-URI": "<http://x.example/>"}, []),
        ({"WARC-Target-URI": "http://x.example/a b"}, ["bad-uri"]),
        ({"WARC-Target-URI": ""}, ["bad-uri"]),
        ({"Content-Length": "-1"}, ["bad-length"]),
        ({"Content-Type": "x"}, ["bad-value"]),
        ({"WARC-Block-Digest": "sha1:x"}, ["bad-digest"]),
        ({"WARC-Block-Digest": "tiger:x"}, ["unknown-digest"]),
        ({"WARC-Concurrent-To": "<urn:x:1>", "warc-concurrent-to": "<urn:x:2>"}, []),
        ({"WARC-IP-Address": "::1"}, []),
        ({"WARC-IP-Address": "1.2.3"}, ["bad-value"]),
        ({"WARC-Refers-To": "<urn:x:1>"}, ["forbidden-field"]),
        ({"WARC-Truncated": "too long"}, ["bad-value"]),
        ({"content-length": "0"}, ["repeated-field"]),
        ({"X-Mine": "1", "x-mine": "2"}, []),
        ({"WARC-Segment-Number": "1"}, []),
        ({"WARC-Segment-Number": "x"}, ["bad-value"]),
        ({"WARC-Type": "warcinfo"}, ["forbidden-field"]),
        ({"WARC-Warcinfo-ID": "<urn:x:1>"}, []),
        ({"WARC-Type": "warcinfo", "WARC-Warcinfo-ID": "<urn:x:1>"}, ["forbidden-field"] * 2),
        ({"WARC-Type": "revisit"}, ["missing-field"]),
        ({"WARC-Type": "continuation"}, ["missing-field", "missing-field"]),
    ],
)
def test_each_fault_is_named_once(change: dict[str, str], expected: list[str]) -> None:
    assert codes({**GOOD, **change}) == expected


def test_a_warcinfo_names_no_other() -> None:
    info = {name: value for name, value in GOOD.items() if name != "WARC-Target-URI"}
    info |= {"WARC-Type": "warcinfo", "WARC-Warcinfo-ID": "<urn:x:1>"}
    assert codes(info) == ["forbidden-field"]


def test_nothing_at_all_lacks_the_mandatory_fields() -> None:
    assert codes({}) == ["missing-field"] * 4


def test_what_is_said_of_a_payload_where_there_is_none_is_worth_a_warning() -> None:
    digest = {"WARC-Payload-Digest": "sha1:" + "A" * 32}
    assert codes({**GOOD, "WARC-Type": "metadata", **digest}) == ["no-payload"]
    assert CODES["no-payload"][0] == "warning"
    assert codes({**GOOD, **digest}) == []


def test_warc_1_0_has_dates_to_the_second_alone() -> None:
    assert codes({**GOOD, "WARC-Date": "2026-11-20T10:11:12.5Z"}, "1.0") == ["bad-date"]


def test_a_warcinfo_has_warc_fields() -> None:
    record = Record.warcinfo(Fields())
    fields = record.fields.copy()
    fields.set("Content-Type", "text/plain")
    fields.add("Content-Length", "0")
    assert [code for code, _ in faults(fields)] == ["content-type"]
