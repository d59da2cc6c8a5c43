"""The chain over all of history: no byte of it changes, and no journal comes or goes, unseen."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from lafka.archec.checking import check_store
from lafka.archec.records import Kind
from lafka.archec.records.opening import catch_up
from lafka.archec.records.sqlite import NAME
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.journals import Journal, read, seals
from lafka.errors import BadJournal
from lafka.storage.drafts import NO_CHAIN, chained_lines, split_chain
from tests.archec.stores import DAY, START, Home, unchain
from tests.archec.test_damage import rebuild, rebuild_from_files

FOBIS = START + 5
URL = "http://x.example/abc/0.pdf"


@pytest.fixture
def home(home: Home) -> Home:
    """Two gatherings of templates, and between them one of files with each kind of line."""
    home.tobi()
    of_files(home)
    (home.data / "abc/wpaper/1.rdf").unlink()
    home.tobi()
    return home


def of_files(home: Home, tist: int = FOBIS) -> None:
    store, body = ObiStore(home.archive), b"%PDF-1.4\n"
    store.folder(tist).mkdir(parents=True)
    store.path(tist, URL).write_bytes(body)
    head = {"format": 1, "gathering": tist, "kind": "fobi", "source": None, "run": "r"}
    time = "2012-11-09T17:13:55Z"
    Journal.begin(store.journal(tist), head, [
        {"e": "appearance", "id": URL, "md5": hashlib.md5(body).hexdigest(),
         "sha256": hashlib.sha256(body).hexdigest(), "length": len(body), "found": tist,
         "time": time, "way": [URL], "status": 200, "kind": "pdf", "etag": '"a"'},
        {"e": "visit", "id": URL, "time": time, "way": [URL], "status": 304, "interval": 2592000},
        {"e": "miss", "id": f"{URL}x", "time": time, "outcome": "timeout"},
        {"e": "end", "counts": {"appearance": 1}, "seconds": 0.1},
    ]).close()  # fmt: skip
    with home.records() as records:
        catch_up(store, records)


def codes(home: Home) -> set[str]:
    return {problem.code for problem in check_store(home.archive)}


def seal(path: Path) -> str:
    return str(json.loads(path.read_bytes().splitlines()[-1])["chain"])


def test_each_line_proves_all_before_it_and_each_journal_the_ones_before(home):
    chain = NO_CHAIN
    for line in home.journal_path().read_bytes().splitlines(keepends=True):
        text, own = split_chain(line)
        assert own == hashlib.sha256(chain + text).digest()
        assert "chain" not in json.loads(text)
        chain = own
    heads = [json.loads(home.journal_path(t).read_bytes().splitlines()[0])["after"]
             for t in (START, FOBIS, START + DAY)]  # fmt: skip
    ends = {str(tist): seal(home.journal_path(tist)) for tist in (START, FOBIS)}
    assert heads == [{}, {str(START): ends[str(START)]}, ends]
    assert codes(home) == set()


EDITS: dict[str, tuple[int, str, str]] = {
    "found": (START, '"found": 13', '"found": 12'),
    "uri": (START, "x.example/abc/1", "x.example/abc/7"),
    "file": (START, "wpaper/1.rdf", "wpaper/7.rdf"),
    "md5": (START, '"md5": "', '"md6": "'),
    "type": (START, '"paper"', '"papes"'),
    "id": (START, '"RePEc:abc:wpaper:1"', '"RePEc:abc:wpaper:7"'),
    "run": (START, '"software": "Lafka', '"software": "Lavka'),
    "time": (FOBIS, "17:13:55Z", "17:13:56Z"),
    "status": (FOBIS, '"status": 200', '"status": 203'),
    "outcome of a miss": (FOBIS, '"timeout"', '"refused"'),
    "id of a miss": (FOBIS, ".pdfx", ".pdfy"),
    "etag": (FOBIS, r"\"a\"", r"\"b\""),
    "count": (FOBIS, '"appearance": 1', '"appearance": 2'),
    "seal": (FOBIS, '"chain": "sha256:', '"chain": "sha255:'),
}


@pytest.mark.forms
@pytest.mark.parametrize(("tist", "old", "new"), EDITS.values(), ids=EDITS)
@pytest.mark.parametrize("fold", [Home.tobi, rebuild, rebuild_from_files])
def test_edits_of_the_same_length_are_seen_before_and_after_a_rebuild(home, tist, old, new, fold):
    path = home.journal_path(tist)
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    assert codes(home) & {"broken-chain", "bad-journal"}
    (home.archive / NAME).unlink()
    lines = path.read_bytes().splitlines(keepends=True)
    with pytest.raises(BadJournal, match=rf"{tist}\.jsonl at byte \d+: line \d+: ") as told:
        fold(home)
    line = int(re.findall(r"line (\d+)", str(told.value))[0])
    assert f"at byte {sum(map(len, lines[: line - 1]))}:" in str(told.value)
    assert not (home.archive / NAME).exists()


def chained(lines: list[dict[str, object]]) -> bytes:
    return chained_lines("".join(f"{json.dumps(one)}\n" for one in lines).encode(), NO_CHAIN)[0]


def written_anew(home: Home) -> None:
    """Somebody makes a sound journal of a changed one."""
    lines = home.journal(START)
    lines[1]["found"] = 1
    home.journal_path().write_bytes(chained(lines))


def without_chain(home: Home) -> None:
    lines = home.journal(START)
    home.journal_path().write_text("".join(f"{json.dumps(one)}\n" for one in lines), "utf-8")


def last_without_chain(home: Home) -> None:
    lines = home.journal(START + DAY)
    home.journal_path(START + DAY).write_text("".join(f"{json.dumps(one)}\n" for one in lines))


def gone(home: Home) -> None:
    home.journal_path().unlink()


def put_between(home: Home) -> None:
    head, *_, end = home.journal(START)
    lines = [{**head, "gathering": START + 9, "after": {}}, end]
    home.journal_path(START + 9).write_bytes(chained(lines))


@pytest.mark.parametrize(
    "damage", [written_anew, without_chain, last_without_chain, gone, put_between]
)
def test_no_journal_comes_goes_or_is_exchanged_unseen(home, damage):
    damage(home)
    assert "broken-chain" in codes(home)
    (home.archive / NAME).unlink()
    with pytest.raises(BadJournal, match="put this journal back from a copy"):
        home.tobi()


def test_a_store_of_before_gets_its_chain_at_its_first_gathering(home):
    before = home.walk()
    unchain(home.archive)
    assert codes(home) == set()
    home.tobi()
    tist = START + 2 * DAY
    head = json.loads(home.journal_path(tist).read_bytes().splitlines()[0])
    digests = {
        str(one): f"sha256:{hashlib.sha256(home.journal_path(one).read_bytes()).hexdigest()}"
        for one in (START, FOBIS, START + DAY)
    }
    assert head["after"] == digests
    assert (codes(home), home.walk()) == (set(), before)
    path = home.journal_path()
    path.write_bytes(path.read_bytes().replace(b'"found": 13', b'"found": 12', 1))
    assert codes(home) == {"broken-chain"}
    (home.archive / NAME).unlink()
    with pytest.raises(BadJournal, match=f"{START}.jsonl at byte .* not the end that the first"):
        home.tobi()


def test_a_gathering_without_a_chain_that_was_killed_ends_without_one(home):
    unchain(home.archive)
    path = home.journal_path(START + DAY)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    assert len(home.tobi().recovered) == 1
    assert b'"chain"' not in path.read_bytes()
    assert codes(home) == set()


def test_what_recovery_adds_goes_on_with_the_chain(home):
    path = home.journal_path(START + DAY)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:40])
    (home.archive / NAME).unlink()
    assert [one.torn for one in home.tobi().recovered] == [40]
    assert codes(home) == set()


def test_a_failed_append_leaves_the_chain_as_it_was(home, monkeypatch):
    store, tist = ObiStore(home.archive), START + 9 * DAY
    head = {"format": 1, "gathering": tist, "kind": "tobi"}
    one = Journal.begin(store.journal(tist), head)

    def full(*_: object) -> None:
        raise OSError(28, "full")

    with monkeypatch.context() as patch:
        patch.setattr("lafka.archec.store.journals.write_all", full)
        with pytest.raises(OSError, match="full"):
            one.append([{"e": "withheld", "archive": "abc", "count": 1}])
    one.append([{"e": "end"}])
    one.close()
    assert [line.get("e") for _, line in read(one.path)] == [None, "end"]


@pytest.mark.parametrize("tists", [(START,), (FOBIS,), (START + DAY,), (START, FOBIS)])
def test_a_journal_derived_from_files_stands_for_the_one_that_is_gone(home, tists):
    named = {tist: seal(home.journal_path(tist)) for tist in tists}
    for tist in tists:
        home.journal_path(tist).unlink()
    (home.archive / NAME).unlink()
    rebuild_from_files(home)
    for tist in tists:
        if tist != START + DAY:  # nobody names the last one, which has no folder either
            assert named[tist] in seals(home.journal_path(tist))
    assert codes(home) == set()
    home.tobi()
    assert codes(home) == set()


def test_each_kind_has_its_own_chain_and_names_the_other(home):
    of_files(home, START + DAY + 5)
    home.tobi()
    head = json.loads(home.journal_path(START + 2 * DAY).read_bytes().splitlines()[0])
    assert set(head["after"]) == {str(START + DAY), str(START + DAY + 5)}
    with home.records() as records:
        assert {one.kind for one in records.gatherings()} == set(Kind)


CORRUPT: tuple[Callable[[bytes], bytes], ...] = (
    lambda line: line.replace(b'", "chain"', b'","chain" ', 1),
    lambda line: line[:-10] + b"g" + line[-9:],
)


@pytest.mark.parametrize("change", CORRUPT)
def test_a_chain_that_is_none_is_damage(home, change):
    lines = home.journal_path().read_bytes().splitlines(keepends=True)
    home.journal_path().write_bytes(lines[0] + change(lines[1]) + b"".join(lines[2:]))
    (home.archive / NAME).unlink()
    with pytest.raises(BadJournal, match="line 2: "):
        home.tobi()
    assert "broken-chain" in codes(home)
