"""Taking a version down: the journal says it, the gateway answers 451, nothing is removed."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from lafka.archec.checking import check_store
from lafka.archec.gather.tobis import Clocks
from lafka.archec.gather.withdrawing import Withdrawal, withdraw
from lafka.archec.records import State
from lafka.archec.records.opening import catch_up, open_records
from lafka.archec.records.sqlite import SqliteRecords
from lafka.archec.serve.queries import StoreHoldings
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.journals import Withdrawals
from lafka.errors import BadArgument, NotHeld
from lafka.urls.addresses import HeldFile, VersionWithdrawn
from tests.archec.fobis import gather
from tests.archec.stores import DAY, START, Home, objects, template, walked
from tests.archec.test_commands import Operator

PAGE, TWIN = "http://x.example/abc/1.pdf", "http://x.example/abc/2.pdf"
AGAIN = START + DAY


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "archec")
    made.put({"abc/wpaper/1.rdf": template(1) + template(2)})
    made.tobi()
    gather(made, START + 9, {PAGE: b"%PDF-1.4 one", TWIN: b"%PDF-1.4 one"})
    gather(made, AGAIN, {PAGE: b"%PDF-1.4 two"})
    return made


def take_down(home: Home, obi: str, tist: int, why: str = "a court") -> Withdrawal:
    store, clocks = ObiStore(home.archive), Clocks(now=lambda: 5, monotonic=lambda: 0.0)
    with home.records(store) as records:
        return withdraw(store, records, obi, tist, why=why, run="r", clocks=clocks)


def test_what_is_taken_down_is_said_in_a_journal_of_its_own(home: Home, tmp_path: Path) -> None:
    before = objects(home.archive)
    done = take_down(home, PAGE, AGAIN)
    store = ObiStore(home.archive)
    assert (done.tist, done.place, done.others) == (AGAIN + 1, store.path(AGAIN, PAGE), 0)
    first, line, end = home.journal(done.tist)
    assert (first["kind"], first["source"]) == ("fobi", "withdraw")
    assert line == {"e": "withdrawn", "id": PAGE, "tist": AGAIN, "why": "a court"}
    assert (end["e"], end["counts"]) == ("end", {"withdrawn": 1})
    assert objects(home.archive) == before
    with home.records() as records:
        assert records.history(PAGE).state is State.WITHDRAWN  # type: ignore[union-attr]
        told = walked(records)
    again = SqliteRecords(tmp_path / "again.sqlite")
    catch_up(store, again)
    assert walked(again) == told
    again.close()


def test_the_check_is_content_with_what_was_emptied(home: Home) -> None:
    place = take_down(home, PAGE, AGAIN).place
    place.chmod(0o644)
    place.write_bytes(b"")
    place.chmod(0o444)
    assert list(check_store(home.archive)) == []


def test_an_older_version_is_not_served_though_its_bytes_are_there(home: Home) -> None:
    store = ObiStore(home.archive)
    holdings = StoreHoldings(store, lambda: open_records(store, "", read_only=True))
    before = holdings.held(PAGE, START + 9)
    assert isinstance(before, HeldFile)
    os.close(before.fd)
    take_down(home, PAGE, START + 9, "a tribunal")
    assert holdings.held(PAGE, START + 9) == VersionWithdrawn(why="a tribunal")
    kept = holdings.held(PAGE, AGAIN)
    assert isinstance(kept, HeldFile)
    os.close(kept.fd)
    twin = holdings.held(TWIN, START + 9)  # it has the same bytes, and was not taken down
    assert isinstance(twin, HeldFile)
    os.close(twin.fd)
    holdings.close()


def test_what_a_withdrawal_that_lives_says_counts_and_a_damaged_one_disturbs_nobody(
    home: Home,
) -> None:
    store = ObiStore(home.archive)
    known = Withdrawals(store)
    path = store.journal(START + 50)
    first = {"format": 1, "gathering": START + 50, "kind": "fobi", "source": "withdraw"}
    path.write_text(json.dumps(first) + "\n")
    (store.journal(START + 51)).write_text("no line\n")
    assert known.why(PAGE, AGAIN) == ""
    with path.open("a") as file:
        line = {"e": "withdrawn", "id": PAGE, "tist": AGAIN, "why": "a court"}
        file.write(json.dumps(line) + "\n{")
    assert known.why(PAGE, AGAIN) == "a court"


def test_others_with_the_same_bytes_are_told(home: Home) -> None:
    done = take_down(home, TWIN, START + 9)
    held = ObiStore(home.archive).path(START + 9, PAGE)
    assert (done.others, done.place) == (1, held)


def test_a_template_is_taken_down(home: Home) -> None:
    handle = "RePEc:abc:wpaper:1"
    done = take_down(home, handle, START)
    assert home.journal(done.tist)[0]["kind"] == "tobi"
    assert home.tobi().counts["appearance"] == 0  # it is still in the data


@pytest.mark.parametrize(
    ("obi", "tist", "why", "error", "said"),
    [
        (PAGE, START, "x", NotHeld, f"{PAGE}: nothing was noted at {START}"),
        ("http://y.example/", START, "x", NotHeld, "http://y.example/: nothing was noted at"),
        (PAGE, AGAIN, " ", BadArgument, "say why it is taken down: --why"),
    ],
)
def test_what_cannot_be_taken_down(
    home: Home, obi: str, tist: int, why: str, error: type[Exception], said: str
) -> None:
    journals = ObiStore(home.archive).journals()
    with pytest.raises(error, match=re.escape(said)):
        take_down(home, obi, tist, why)
    assert ObiStore(home.archive).journals() == journals


def test_an_operator_reports_and_takes_down(home: Home) -> None:
    operator = Operator(home)
    place = operator.gets("archec", "withdraw", PAGE, str(AGAIN), "--why", "a court")
    assert (home.root / place.strip()).read_bytes() == b"%PDF-1.4 two"
    values = json.loads(operator.gets("archec", "report"))
    assert (values["summary"]["withdrawn"], values["summary"]["versions"]) == (1, 3)
    assert operator.gets("archec", "report", "--mail", "ABC").startswith("About the RePEc archive")
    operator.gets("archec", "report", "-o", "r.csv")
    assert (home.root / "r.csv").read_bytes().startswith(b"archive,tobis,")
    said = operator.refusal("archec", "report", "--mail", "no")
    assert said.endswith("report: --mail no: the store has no template of that archive")
    said = operator.refusal("archec", "report", "--mail", "abc", "--by", "host")
    assert said.endswith("--mail stands alone: a text on standard output")
    said = operator.refusal("archec", "withdraw", PAGE, str(AGAIN), "--why", "x")
    assert "is taken down already" in said
