"""The quick way to an entry says what the whole reading says, or nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lafka.errors import NotHeld
from lafka.papers.archive.entries import MAX_BYTES, Entry, entries_of, found, latest, of_suwaf
from lafka.papers.archive.suwafs import Fut, Suwaf
from lafka.papers.origins import Origin
from lafka.pids import SCHEMES
from lafka.storage import drafts

PID = SCHEMES["RePEc"].pid("RePEc:abc:wpaper:1")
PLAIN = st.text(
    st.characters(codec="utf-8", exclude_characters='"\\', min_codepoint=32), max_size=9
)
LABELS = st.sampled_from(["", "", "supplement", "other"])
TIMES = st.datetimes(datetime(2026, 1, 1), datetime(2026, 1, 3), timezones=st.just(UTC))


def suwafs(texts: st.SearchStrategy[str], least: int = 0) -> st.SearchStrategy[Suwaf]:
    futs = st.builds(
        Fut, s=st.integers(0, 1 << 70), l=st.integers(0, 1 << 50), url=texts, digest=texts,
        origin=st.builds(Origin, found_by=texts, html_url=texts, html_date=texts, label=LABELS),
    )  # fmt: skip
    entries = st.lists(st.tuples(texts, TIMES, futs), min_size=least, max_size=6)
    return st.builds(
        _suwaf, entries, st.integers(0, 1 << 60), st.lists(texts, max_size=2), st.booleans()
    )


def _suwaf(
    entries: list[tuple[str, datetime, Fut]], end: int, opened: list[str], chained: bool
) -> Suwaf:
    chain = f"sha256:{end:064}" if chained else ""
    suwaf = Suwaf(pid=PID, end=end, chain=chain, open=tuple(opened))
    for futli, time, fut in entries:
        suwaf.add(futli, time, fut)
    return suwaf


def all_of(suwaf: Suwaf) -> list[Entry]:
    return sorted(
        Entry(futli, time, fut.s, fut.l, fut.url, fut.digest, fut.label)
        for futli, times in suwaf.futlis.items()
        for time, fut in times.items()
    )


@given(suwafs(st.text(max_size=9)))
def test_what_is_said_is_what_stands_there(suwaf: Suwaf) -> None:
    entries = entries_of(suwaf.to_bytes(), str(PID))
    assert entries is None or sorted(entries) == all_of(suwaf)


@given(suwafs(PLAIN, least=1))
def test_a_suwaf_without_escapes_is_read_the_quick_way(suwaf: Suwaf) -> None:
    small = all(fut.s < 10**18 for times in suwaf.futlis.values() for fut in times.values())
    small = small and suwaf.end < 10**18
    entries = entries_of(suwaf.to_bytes(), str(PID))
    assert (entries is not None) == small
    assert entries is None or sorted(entries) == all_of(suwaf)


@given(
    suwafs(PLAIN, least=1), st.none() | PLAIN, st.none() | st.integers(0, 26),
    st.none() | LABELS, st.data(),
)  # fmt: skip
def test_the_same_fut_is_given(
    suwaf: Suwaf, futli: str | None, cut: int | None, label: str | None, data: st.DataObject
) -> None:
    entries = all_of(suwaf)
    if data.draw(st.booleans()):
        futli = data.draw(st.sampled_from(entries)).futli
    time = None if cut is None else data.draw(st.sampled_from(entries)).time[:cut]
    quick = latest(entries, futli, time, label)
    try:
        assert quick == of_suwaf(suwaf, futli, time, label)
    except NotHeld:
        assert quick is None


@given(suwafs(PLAIN, least=1), st.data())
@example(Suwaf(pid=PID, futlis={"f": {}}), None)
def test_what_was_changed_is_read_as_it_stands_or_left_to_the_whole_reading(
    suwaf: Suwaf, data: st.DataObject | None
) -> None:
    written = suwaf.to_bytes()
    changed = written
    if data is not None:
        lines = written.splitlines(keepends=True)
        place = data.draw(st.integers(0, len(lines) - 1))
        other = data.draw(st.sampled_from([b"", *lines, b"{", b"}", b'"', b"1", b"\xff", b" "]))
        if data.draw(st.booleans()):
            lines[place] = other  # a line that was lost, or one of elsewhere
        else:
            at = data.draw(st.integers(0, len(lines[place])))
            lines[place] = lines[place][:at] + other + lines[place][at:]
        changed = b"".join(lines)
    entries = entries_of(changed, str(PID))
    if entries is not None:
        assert sorted(entries) == all_of(Suwaf.of_json(json.loads(changed), PID))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"format": 1', '"format": 2'),
        ("RePEc:abc:wpaper:1", "RePEc:abc:wpaper:2"),
        ('"l": 1', '"l": 01'),
        ('"l": 1', '"l": "1"'),
        ('"s": 7', '"s": -7'),
        ("2026-01-01T", "2026-1-01T"),
        ("http", "\\u0068ttp"),
        ("http", "ht\ttp"),
        ('"end": 0', '"end": null'),
        ("}\n}\n", "}\n}\n\n"),
        ("{\n", "{\n\n"),
    ],
)
def test_nothing_is_said_of_what_does_not_fit(old: str, new: str) -> None:
    suwaf = Suwaf(pid=PID)
    fut = Fut(s=7, l=1, url="http://x.example/", digest="sha256:0")
    suwaf.add("http://x.example/1", datetime(2026, 1, 1, tzinfo=UTC), fut)
    for _ in range(2):  # one entry, then two
        text = suwaf.to_bytes().decode()
        assert entries_of(text.encode(), str(PID))
        assert old in text
        assert entries_of(text.replace(old, new).encode(), str(PID)) is None
        suwaf.add("http://x.example/1", datetime(2026, 1, 2, tzinfo=UTC), fut)


def test_what_stands_twice_is_left_to_the_whole_reading() -> None:
    suwaf = Suwaf(pid=PID)
    fut = Fut(s=7, l=1, url="http://x.example/", digest="sha256:0")
    for day in (1, 2):
        for futli in "ab":
            suwaf.add(futli, datetime(2026, 1, day, tzinfo=UTC), fut)
    text = suwaf.to_bytes()
    assert len(entries_of(text, str(PID)) or ()) == 4
    assert entries_of(text.replace(b'"b": {', b'"a": {'), str(PID)) is None
    assert entries_of(text.replace(b"2026-01-02", b"2026-01-01"), str(PID)) is None


def test_a_file_that_is_missing_long_or_a_folder_is_left_to_the_whole_reading(tmp_path) -> None:
    path = tmp_path / "1.json"
    assert found(str(path), PID, None, None, "") is None
    assert found(str(tmp_path), PID, None, None, "") is None
    suwaf = Suwaf(pid=PID)
    for number in range(100):
        fut = Fut(s=number, l=1, url="http://x.example/", digest="sha256:0")
        suwaf.add("f", datetime(2026, 1, 1, 0, 0, number % 60, number, tzinfo=UTC), fut)
        drafts.replace(path, (suwaf.to_bytes(),))
        entry = found(str(path), PID, None, None, "")
        if path.stat().st_size >= MAX_BYTES:
            assert entry is None
            return
        assert entry == of_suwaf(suwaf, None, None, "")
    raise AssertionError("it never became long")
