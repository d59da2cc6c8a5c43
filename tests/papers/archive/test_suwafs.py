from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.errors import BadSuwaf, NotHeld, StorageTrouble
from lafka.papers.archive import suwafs
from lafka.papers.archive.suwafs import Fut, Suwaf
from lafka.papers.origins import Origin
from lafka.pids import SCHEMES
from lafka.storage import drafts

PID = SCHEMES["RePEc"].pid("RePEc:abc:wpaper:1")
TIME = datetime(2026, 11, 20, 10, 11, 12, 250_000, tzinfo=UTC)
TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
FUTS = st.builds(
    Fut, s=st.integers(0, 1 << 50), l=st.integers(0, 1 << 50), url=TEXT, digest=TEXT,
    origin=st.builds(Origin, found_by=TEXT, html_url=TEXT, html_date=TEXT, label=TEXT),
)  # fmt: skip
TIMES = st.datetimes(datetime(1000, 1, 2), datetime(9998, 1, 1), timezones=st.just(UTC))


def fut(place: int = 0, label: str = "") -> Fut:
    return Fut(s=place, l=1, url="http://x.example/", digest=f"sha256:{place:064}",
               origin=Origin(label=label))  # fmt: skip


@given(
    entries=st.lists(st.tuples(TEXT, TIMES, FUTS), max_size=6),
    end=st.integers(0, 1 << 60),
    opened=st.lists(TEXT, unique=True, max_size=3),
)
def test_a_suwaf_is_read_as_it_was_written(
    entries: list[tuple[str, datetime, Fut]], end: int, opened: list[str]
) -> None:
    suwaf = Suwaf(pid=PID, end=end, chain="sha256:0", open=tuple(opened))
    for futli, time, each in entries:
        key = suwaf.add(futli, time, each)
        assert suwaf.futlis[futli][key] == each
    assert Suwaf.of_json(json.loads(suwaf.to_bytes()), PID) == suwaf
    assert Suwaf.of_json(suwaf.as_json(), PID) == suwaf
    assert sum(map(len, suwaf.futlis.values())) == len(entries)


@given(
    entries=st.lists(st.tuples(st.sampled_from(["f", "g", ""]) | TEXT, TIMES, FUTS), max_size=8),
    writes=st.sets(st.integers(0, 8)),
    opened=st.lists(TEXT, max_size=2),
    empty=st.booleans(),
)
def test_what_was_encoded_before_stands_as_json_would_have_it(
    entries: list[tuple[str, datetime, Fut]], writes: set[int], opened: list[str], empty: bool
) -> None:
    suwaf = Suwaf(pid=PID, open=tuple(opened), futlis={"none yet": {}} if empty else {})
    for number, (futli, time, each) in enumerate([*entries, ('\ud800\u2028\n"', TIME, fut())]):
        suwaf.add(futli, time, each)
        suwaf.end = number
        if number in writes:
            older, data = suwaf, suwaf.to_bytes()
            suwaf = suwaf.copy()
            assert suwaf.to_bytes() == data
            suwaf.add(futli, time, each)
            assert older.to_bytes() == data
        plain = json.dumps(suwaf.as_json(), ensure_ascii=False, indent=1) + "\n"
        if number in writes or number == len(entries):
            assert suwaf.to_bytes() == plain.encode("utf-8", "surrogatepass")


def test_a_suwaf_of_nothing_is_written_as_json_would_have_it() -> None:
    suwaf = Suwaf(pid=PID, end=7, chain="sha256:0")
    assert suwaf.to_bytes().decode() == json.dumps(suwaf.as_json(), indent=1) + "\n"


@given(st.binary(max_size=60))
def test_any_bytes_are_a_suwaf_or_a_bad_one(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "1.json"
        path.write_bytes(data)
        with pytest.raises(BadSuwaf):
            Suwaf.load(path, PID)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["_warc", str(PID), "s", "l", "end", "f"]), inner)
        ),
        max_leaves=12,
    )
)
def test_any_json_is_a_suwaf_or_a_bad_one(value: object) -> None:
    for values in (value, {str(PID): value, "_warc": {"format": 1, "end": 0}}):
        try:
            Suwaf.of_json(json.loads(json.dumps(values)), PID)
        except ValueError:
            continue


def test_what_is_written(tmp_path: Path) -> None:
    suwaf = Suwaf(pid=PID, end=190312)
    found = {"found_by": "citation_pdf_url", "html_url": "http://x.example/é"}
    entry = Fut(s=5120, l=183022, url="http://x.example/1.pdf", digest="sha256:0",
                origin=Origin(**found))  # fmt: skip
    suwaf.add("http://x.example/abs/1", TIME, entry)
    path = tmp_path / "1.json"
    drafts.replace(path, (suwaf.to_bytes(),))
    assert json.loads(path.read_bytes()) == {
        "RePEc:abc:wpaper:1": {
            "http://x.example/abs/1": {
                "2026-11-20T10:11:12Z": {
                    "s": 5120,
                    "l": 183022,
                    "url": "http://x.example/1.pdf",
                    "digest": "sha256:0",
                    **found,
                }
            }
        },
        "_warc": {"format": 1, "end": 190312},
    }
    assert "é".encode() in path.read_bytes()
    assert [found.name for found in tmp_path.iterdir()] == ["1.json"]
    assert Suwaf.load(path, PID) == suwaf
    assert Suwaf.load(tmp_path / "2.json", PID) is None


def test_keys_that_are_not_known_are_passed_over() -> None:
    values = {
        str(PID): {"f": {"2026-11-20T10:11:12Z": {"s": 1, "l": 2, "more": [1]}}},
        "_warc": {"format": 1, "end": 3, "later": {}},
    }
    suwaf = Suwaf.of_json(json.loads(json.dumps(values)), PID)
    assert suwaf.futlis["f"]["2026-11-20T10:11:12Z"].l == 2


@pytest.mark.parametrize("time", ["", "2026", "2026-11-20T10:11:12", "2026-11-20 10:11:12Z", "Z"])
def test_a_key_that_is_no_time_is_refused(tmp_path: Path, time: str) -> None:
    values = {str(PID): {"f": {time: {"s": 1, "l": 2}}}, "_warc": {"format": 1, "end": 3}}
    path = tmp_path / "1.json"
    path.write_text(json.dumps(values))
    with pytest.raises(BadSuwaf, match="not a time"):
        Suwaf.load(path, PID)


def test_a_leftover_draft_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / ".draft-1.json").write_bytes(b"x" * 10_000)
    drafts.replace(tmp_path / "1.json", (Suwaf(pid=PID).to_bytes(),))
    assert [path.name for path in tmp_path.iterdir()] == ["1.json"]
    assert Suwaf.load(tmp_path / "1.json", PID) == Suwaf(pid=PID)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    taken = tmp_path / "1.json"
    taken.mkdir()
    (taken / "x").touch()
    with pytest.raises(StorageTrouble, match=r"1\.json"):
        drafts.replace(taken, (Suwaf(pid=PID).to_bytes(),))
    assert [path.name for path in tmp_path.iterdir()] == ["1.json"]
    with pytest.raises(StorageTrouble):
        drafts.replace(tmp_path / "missing" / "1.json", (Suwaf(pid=PID).to_bytes(),))


def test_one_second_holds_any_number_of_futs() -> None:
    suwaf = Suwaf(pid=PID)
    keys = [suwaf.add("f", TIME, fut(n)) for n in range(200)]
    assert len(set(keys)) == 200
    assert [entry.s for entry in suwaf.futlis["f"].values()] == [*range(200)]


def test_the_latest_fut_is_given() -> None:
    suwaf = Suwaf(pid=PID)
    with pytest.raises(NotHeld):
        suwaf.fut()
    suwaf.add("f", TIME, fut(1))
    suwaf.add("g", TIME + timedelta(milliseconds=1), fut(2))
    suwaf.add("f", TIME + timedelta(milliseconds=2), fut(3))
    suwaf.add("f", TIME + timedelta(days=2), fut(4, "supplement"))
    assert suwaf.fut()[2].s == 3
    assert suwaf.fut(label="supplement")[2].s == 4
    assert suwaf.fut("g")[2].s == 2
    with pytest.raises(NotHeld, match=r"no fut of f by 2026-11-19 is held$"):
        suwaf.fut("f", "2026-11-19")
    assert suwaf.fut(time="2026-11-20")[1] == "2026-11-20T10:11:12.252Z"


_JSON = st.recursive(
    st.one_of(st.text(), st.integers(), st.booleans(), st.none()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), _JSON))
def test_a_suwaf_is_written_as_json_writes_with_an_indent(values: dict[str, Any]) -> None:
    expected = json.dumps(values, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")
    assert suwafs._encoded(values) == expected
    deeper = json.dumps({"": {"f": values}}, ensure_ascii=False, indent=1)
    lines = deeper.encode("utf-8", "surrogatepass").split(b"\n")[2:-2]
    assert suwafs._indented("f", values) == b"\n".join(lines)
