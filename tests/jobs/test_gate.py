"""The gate's statements on a real PostgreSQL, and what its sentences hide."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import psycopg
import pytest

from lafka.capture.gating import check_gate
from lafka.errors import BadArgument
from lafka.jobs.database.postgresql import Server
from lafka.politeness.claims import LEASE, Claims, GateAway
from tests.services.postgresqls import Postgres

AWAY = "postgresql://bob:secret@127.0.0.1:1/papers"


@pytest.fixture
def url(postgres: Postgres) -> str:
    return postgres.url()


@pytest.fixture
def worker(url: str) -> Iterator[Callable[[str], Claims]]:
    made: list[Claims] = []

    def make(name: str) -> Claims:
        made.append(Claims(Server(url), name))
        return made[-1]

    yield make
    for claims in made:
        claims.leave()


def done(url: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement)  # type: ignore[call-overload]
        return list(cursor.fetchall()) if cursor.description else []


def leases(*hosts: str) -> dict[str, float]:
    return dict.fromkeys(hosts, LEASE)


def old(url: str) -> None:
    """Have all leases and waits end now, long after the server began."""
    done(url, "UPDATE lafka_gate SET until = now() - interval '1 s', parked = NULL")


def test_a_host_has_one_worker_until_that_gives_it_back(
    worker: Callable[[str], Claims], url: str
) -> None:
    one, two = worker("one"), worker("two")
    assert one.claim(leases("a", "b")) == {"a": None, "b": None}
    assert one.claim(leases("a")) == {"a": None}  # it is not told twice that it was refused
    refused = two.claim(leases("a", "c"))
    assert refused["c"] is None
    assert refused["a"] is not None
    assert LEASE - 10 < refused["a"].left <= LEASE
    assert refused["a"].parked == 0
    assert one.renew({"a": 15.0, "b": 15.0, "c": 15.0}) == {"a": True, "b": False}
    two.release({"a": 0.0})  # it is not two's
    one.release({"a": 900.0, "b": 0.0})
    again = two.claim(leases("a", "b"))
    assert again["b"] is None
    assert again["a"] is not None
    assert 600 < again["a"].left <= 900
    assert one.renew({"a": 15.0, "b": 15.0}) == {}


def test_a_lease_that_is_over_is_the_next_ones_and_the_first_has_lost_it(
    worker: Callable[[str], Claims], url: str
) -> None:
    one, two = worker("one"), worker("two")
    one.claim(leases("a", "b"))
    old(url)
    server_is_young = two.claim(leases("a"))["a"]
    [(seconds,)] = done(
        url, "SELECT extract(epoch FROM now() - pg_postmaster_start_time())::float8"
    )
    if server_is_young is None:
        assert seconds >= LEASE
        assert one.renew({"a": 15.0, "b": 15.0}) == {"b": False}
    else:
        assert one.renew({"a": 15.0, "b": 15.0}) == {"a": True, "b": False}


def test_a_host_that_is_parked_is_nobodys(worker: Callable[[str], Claims], url: str) -> None:
    one, two = worker("one"), worker("two")
    one.claim(leases("a"))
    one.park({"a": (900.0, "429, Retry-After: 900"), "b": (60.0, "503")})
    one.park({"a": (30.0, "503")})  # shorter: the first one stays
    one.release({"a": 0.0})
    refused = two.claim(leases("a", "b"))
    assert refused["a"] is not None
    assert refused["b"] is not None
    assert 600 < refused["a"].parked <= 900
    assert refused["a"].why == "429, Retry-After: 900"
    old(url)
    assert two.claim(leases("a", "b")) == {"a": None, "b": None}


def test_who_leaves_has_nothing_left_behind(worker: Callable[[str], Claims], url: str) -> None:
    one = worker("one")
    one.claim(leases("a", "b"))
    one.leave()
    assert worker("two").claim(leases("a", "b")) == {"a": None, "b": None}
    one.claim(leases("c"))  # it connects again


def test_workers_that_ask_for_the_same_hosts_at_once_never_lock_each_other_out(
    worker: Callable[[str], Claims], url: str
) -> None:
    hosts = [f"host{number}" for number in range(40)]
    owner: dict[str, str] = {}
    wrong: list[object] = []

    def works(name: str) -> None:
        random, claims = Random(name), worker(name)
        try:
            for _ in range(30):
                some = random.sample(hosts, 20)
                ours = [host for host, no in claims.claim(leases(*some)).items() if no is None]
                wrong.extend(host for host in ours if owner.setdefault(host, name) != name)
                random.shuffle(ours)
                wrong.extend({*ours} - {*claims.renew(dict.fromkeys(ours, 15.0))})
                for host in ours:
                    del owner[host]
                claims.release(dict.fromkeys(ours, 0.0))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=works, args=[name]) for name in ("one", "two", "three")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_connection_that_is_broken_off_is_made_anew(
    worker: Callable[[str], Claims], url: str
) -> None:
    one = worker("one")
    one.claim(leases("a"))
    one.abort()
    with pytest.raises(GateAway, match="postgresql://127"):
        one.claim(leases("b"))
    assert one.claim(leases("a", "b")) == {"a": None, "b": None}
    Claims(Server(url), "idle").abort()  # nothing is open


def refusal(url: str) -> str:
    with pytest.raises(BadArgument) as caught:
        check_gate(url)
    return str(caught.value)


def test_a_gate_that_cannot_be_written_to_is_refused(url: str) -> None:
    said = refusal(f"{url}?options=-c%20default_transaction_read_only%3Don")
    assert said.startswith("LAFKA_GATE cannot be used: postgresql://127.0.0.1:")
    assert "read-only transaction" in said
    check_gate(url)
    assert "read-only" in refusal(f"{url}?options=-c%20default_transaction_read_only%3Don")
    done(url, "ALTER TABLE lafka_gate DROP COLUMN parked")
    assert "parked" in refusal(url)


def test_a_gate_that_is_starting_is_waited_for_as_long_as_patience_lasts(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, data = postgres.url(), postgres.folder / "data"
    postgres.stop()
    (data / "standby.signal").touch()
    try:
        postgres.start(b"entering standby mode", hot_standby="off")  # it waits for a word to go on
        assert re.search("not accepting connections|starting up", refusal(url))

        def promoted(_: float) -> None:
            assert postgres.process is not None
            (data / "promote").touch()
            postgres.process.send_signal(signal.SIGUSR1)

        monkeypatch.setattr("lafka.capture.gating.time.sleep", promoted)
        check_gate(url, patience=60.0)
        assert done(url, "SELECT * FROM lafka_gate") == []
    finally:
        postgres.stop()
        (data / "standby.signal").unlink(missing_ok=True)
        postgres.start()


def test_sentences_name_the_server_and_neither_user_nor_password(postgres: Postgres) -> None:
    said = refusal(postgres.url().replace("lafka@", "nemo:secret@"))
    assert 'role "..." does not exist' in said
    assert "nemo" not in said
    assert "secret" not in said


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_gate_that_does_not_answer_is_refused(scheme: str) -> None:
    said = refusal(AWAY.replace("postgresql", scheme))
    assert said.startswith("LAFKA_GATE cannot be used: postgresql://127.0.0.1:1/papers: ")
    assert "refused" in said
    assert "secret" not in said
    assert "bob" not in said


@pytest.mark.parametrize(
    "url",
    [
        "mysql://bob:secret@x/y",
        "host=x password=secret",
        "secret",
        "postgresql://bob:secret@x/y?no=1",
    ],
)
def test_what_is_no_url_of_postgresql_is_refused_and_not_shown(url: str) -> None:
    said = refusal(url)
    assert said.startswith("LAFKA_GATE")
    assert "secret" not in said
