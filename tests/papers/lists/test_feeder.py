from __future__ import annotations

import errno
import random
import resource
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lafka.errors import BadList, StorageTrouble
from lafka.papers.lists.futlis import Feeder, Futli, Line, LineForm
from lafka.pids import SCHEMES
from tests import suites
from tests.waiting import LIMIT

REPEC = SCHEMES["RePEc"]


def line(number: int, host: str = "x.example", outcome: str | None = None) -> Line:
    pid = REPEC.pid(f"RePEc:abc:wpaper:{number}")
    url = f"http://{host}/{number}.pdf"
    return Line(
        number=number,
        pid_text=str(pid),
        url_text=url,
        futli=Futli(pid=pid, url=url),
        outcome=outcome,
        problem=outcome and "why",
    )


@pytest.fixture
def feeder(tmp_path):
    feeder = Feeder(tmp_path / "queue")
    yield feeder
    feeder.close()


def numbers(lines: list[Line]) -> list[int]:
    return [line.number for line in lines]


def test_a_list_sorted_by_host_keeps_every_host_busy(feeder) -> None:
    feeder.load(line(n, f"h{n // 1000}.example") for n in range(5000))
    assert numbers(feeder.take(100)) == [0, 1000, 2000, 3000, 4000]
    assert feeder.take(100) == []
    assert (feeder.waiting_hosts, feeder.waiting_lines, feeder.total) == (5, 4995, 5000)


def test_an_idle_host_gets_its_next_line_at_once_while_a_slow_one_waits(feeder) -> None:
    feeder.load(line(n, "slow.example" if n < 50 else "quick.example") for n in range(100))
    slow, quick = feeder.take(10)
    for expected in range(51, 100):
        feeder.release(quick)
        (quick,) = feeder.take(10)
        assert quick.number == expected
    feeder.release(quick)
    assert feeder.take() == []
    feeder.release(slow)
    assert numbers(feeder.take()) == [1]


def test_a_host_that_was_served_goes_behind_the_others(feeder) -> None:
    feeder.load(line(n, f"h{n % 3}.example") for n in range(9))
    served = []
    while got := feeder.take():
        served += numbers(got)
        feeder.release(got[0])
    assert served == list(range(9))
    assert feeder.exhausted


def test_lines_that_need_no_request_come_first_and_take_no_place(feeder) -> None:
    bad = Line(number=3, pid_text="", url_text="", outcome="bad-pid", problem="empty")
    feeder.load([line(1), line(2, outcome="restricted"), bad, line(4)])
    assert numbers(feeder.take(2)) == [2, 3]
    assert numbers(feeder.take(2)) == [1]
    feeder.release(bad)
    assert feeder.take() == []


def test_several_places_of_a_host(tmp_path) -> None:
    feeder = Feeder(tmp_path / "queue", per_host=2)
    feeder.load([*(line(n, "a.example") for n in range(5)), line(9, "b.example")])
    assert numbers(feeder.take(10)) == [0, 9, 1]
    assert feeder.take(10) == []
    feeder.release(line(1, "a.example"))
    assert numbers(feeder.take(10)) == [2]
    feeder.close()


def test_a_place_is_given_back_once(feeder) -> None:
    feeder.load(line(n) for n in range(5))
    (first,) = feeder.take()
    feeder.release(line(4))
    assert feeder.take() == []
    feeder.release(first)
    feeder.release(first)
    assert numbers(feeder.take(5)) == [1]


def test_a_host_whose_lines_come_later_is_served_then(feeder) -> None:
    feeder.load([line(1)])
    (first,) = feeder.take()
    assert feeder.exhausted
    feeder.load([line(2), line(3)])
    assert not feeder.exhausted
    assert feeder.take() == []
    feeder.release(first)
    (second,) = feeder.take()
    assert second.number == 2
    assert not feeder.exhausted


def test_a_line_of_a_slow_pipe_can_be_taken_before_the_next_is_read(feeder) -> None:
    taken = []

    def pipe():
        for n in range(3):
            yield line(n, f"h{n}.example")
            taken.append(numbers(feeder.take(5)))

    feeder.load(pipe())
    assert taken == [[0], [1], [2]]


def test_counts(feeder) -> None:
    assert (feeder.loaded, feeder.exhausted, feeder.total) == (False, False, 0)
    assert feeder.load([])
    assert (feeder.loaded, feeder.exhausted) == (True, True)


def test_what_was_read_before_a_bad_list_ends_can_be_taken(feeder) -> None:
    def torn():
        yield line(1)
        raise BadList("list.tsv.gz: cut")

    with pytest.raises(BadList):
        feeder.load(torn())
    assert feeder.loaded
    assert numbers(feeder.take(5)) == [1]
    assert feeder.exhausted


TEXTS = st.text(st.characters(exclude_categories=()), max_size=20)


@given(
    st.builds(
        Line,
        number=st.integers(1, 2**60),
        pid_text=TEXTS,
        url_text=TEXTS,
        outcome=st.none() | TEXTS,
        problem=st.none() | TEXTS,
        futli=st.none()
        | st.builds(
            Futli,
            pid=st.sampled_from(["RePEc:a:b:\U0001f600", "x" * 300]).map(REPEC.pid),
            url=TEXTS.map(lambda text: f"http://x/{text}"),
        ),
    )
)
def test_a_line_comes_back_as_it_went_in(tmp_path_factory, given_line: Line) -> None:
    feeder = Feeder(tmp_path_factory.getbasetemp() / "queue")
    feeder.load([given_line])
    assert feeder.take() == [given_line]
    feeder.close()


@pytest.mark.draws("of the lines")
@pytest.mark.parametrize("per_host", [1, 3])
def test_loading_and_taking_at_once_loses_nothing_and_keeps_the_order(tmp_path, per_host) -> None:
    feeder, count = Feeder(tmp_path / "queue", per_host=per_host), suites.amount(4_000, 20_000)
    chance = random.Random(7)
    hosts = {n: f"h{int(chance.paretovariate(0.5)) % 400}.example" for n in range(count)}
    loader = threading.Thread(target=feeder.load, args=([line(n, h) for n, h in hosts.items()],))
    loader.start()
    out: list[Line] = []
    by_host: dict[str, list[int]] = defaultdict(list)
    while not feeder.exhausted or out:
        for got in feeder.take(chance.randrange(1, 30)):
            out.append(got)
            by_host[got.futli.host].append(got.number)
        assert max(Counter(o.futli.host for o in out).values(), default=0) <= per_host
        chance.shuffle(out)
        while len(out) > chance.randrange(40):
            feeder.release(out.pop())
    loader.join()
    assert feeder.total == count
    assert feeder.waiting_hosts == 0
    listed: dict[str, list[int]] = defaultdict(list)
    for number, host in hosts.items():
        listed[host].append(number)
    assert by_host == listed
    feeder.close()


def test_close_stops_a_load_in_another_thread(tmp_path) -> None:
    feeder = Feeder(tmp_path / "queue")
    began = threading.Event()

    def endless():
        number = 0
        while True:
            yield line(number := number + 1)
            began.set()

    loader = threading.Thread(target=feeder.load, args=(endless(),))
    loader.start()
    began.wait()
    feeder.close()
    loader.join(LIMIT)
    assert not loader.is_alive()
    assert feeder.take() == []
    feeder.release(line(1))
    assert not feeder.load([line(1)])
    feeder.close()


def test_nothing_is_left_on_disk(tmp_path) -> None:
    path = tmp_path / "queue"
    feeder = Feeder(path)
    # More than the cache holds, so that the file without a name is written and read.
    feeder.load(
        Line(number=n, pid_text="x" * 100_000, url_text=str(n), outcome="bad-pid", problem="")
        for n in range(1500)
    )
    assert [int(got.url_text) for _ in range(15) for got in feeder.take(100)] == list(range(1500))
    feeder.close()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_made_is_named(tmp_path) -> None:
    for path in (tmp_path / "no" / "queue", tmp_path):
        with pytest.raises(StorageTrouble, match=str(path)):
            Feeder(path)


def test_a_file_or_link_of_somebody_else_is_told_and_stays(tmp_path) -> None:
    path, link = tmp_path / "queue", tmp_path / "link"
    path.write_bytes(b"of somebody")
    link.symlink_to(tmp_path / "nothing")
    for there in (path, link):
        with pytest.raises(StorageTrouble, match=f"{there}: File exists"):
            Feeder(there)
    assert path.read_bytes() == b"of somebody"
    assert link.is_symlink()
    assert not (tmp_path / "nothing").exists()


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from lafka.errors import StorageTrouble
from lafka.papers.lists.futlis import Feeder
from lafka.papers.lists.futlis import Line

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
feeder = Feeder(Path(sys.argv[1]))
try:
    feeder.load(
        Line(number=n, pid_text="x" * 10_000, url_text="", outcome="bad-pid", problem="")
        for n in range(20_000)
    )
except StorageTrouble as error:
    print(feeder.loaded, error)
feeder.close()
"""


def test_a_disk_that_takes_no_more_is_said_so(tmp_path) -> None:
    path = tmp_path / "queue"
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, path],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    assert done.stdout.startswith(f"True {path}: ")
    assert done.stderr == ""


def test_a_full_disk_is_known_as_such(tmp_path) -> None:
    feeder = Feeder(tmp_path / "queue")
    feeder._db.execute("PRAGMA max_page_count = 20")
    with pytest.raises(StorageTrouble, match="queue: database or disk is full") as trouble:
        feeder.load(line(n) for n in range(10_000))
    assert trouble.value.error.errno == errno.ENOSPC
    feeder.close()


def test_memory_stays_flat_whatever_the_number_of_hosts(tmp_path) -> None:
    feeder = Feeder(tmp_path / "queue")
    feeder.load(line(n, f"h{n}.example") for n in range(20_000))
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(2):
        taken = feeder.take(10_000)
        for got in taken:
            feeder.release(got)
    assert not feeder._out
    assert not feeder._held
    assert feeder.exhausted
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held < 64 << 10
    feeder.close()


class AgainstAModel(RuleBasedStateMachine):
    """The feeder beside lists and counters that do the same slowly."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(self.new_folder())
        self.feeder = Feeder(self.folder / "queue", per_host=2)
        self.waiting: list[Line] = []
        self.out: list[Line] = []
        self.number = 0

    def new_folder(self) -> str:
        import tempfile

        return tempfile.mkdtemp()

    @rule(hosts=st.lists(st.sampled_from("abcd!"), max_size=5))
    def load(self, hosts: list[str]) -> None:
        lines = [
            line(
                self.number + i,
                f"{h}.example".replace("!", "z"),
                "restricted" if h == "!" else None,
            )
            for i, h in enumerate(hosts, start=1)
        ]
        self.number += len(lines)
        self.waiting += lines
        self.feeder.load(lines)

    @rule(limit=st.integers(1, 4))
    def take(self, limit: int) -> None:
        taken = self.feeder.take(limit)
        could = self.could()
        assert len(taken) == min(limit, len(could))
        for got in taken:
            assert got in self.could()
            self.waiting.remove(got)
            if not got.outcome:
                self.out.append(got)
        free = [bool(got.outcome) for got in taken]
        assert free == sorted(free, reverse=True)

    def could(self) -> list[Line]:
        """What may be taken in any order of hosts, as many at once as places allow."""
        places = Counter("abcd" * 2)
        places.subtract(got.futli.host[0] for got in self.out)
        found = []
        for waiting in self.waiting:
            host = waiting.futli.host[0]
            if waiting.outcome or places[host] > 0:
                found.append(waiting)
                places[host] -= 0 if waiting.outcome else 1
        return found

    @precondition(lambda self: self.out)
    @rule(data=st.data())
    def release(self, data) -> None:
        got = data.draw(st.sampled_from(self.out))
        self.out.remove(got)
        self.feeder.release(got)

    @invariant()
    def counts_agree(self) -> None:
        assert self.feeder.waiting_lines == len(self.waiting)

    def teardown(self) -> None:
        self.feeder.close()
        self.folder.rmdir()


TestAgainstAModel = AgainstAModel.TestCase


@pytest.fixture
def probing(tmp_path):
    feeder = Feeder(tmp_path / "probing", per_host=2, probes=1)
    yield feeder
    feeder.close()


def test_a_host_gets_one_line_until_it_has_answered_it(probing) -> None:
    probing.load(line(n) for n in range(9))
    [first] = probing.take(9)
    assert not probing.answers(first)
    probing.release(first, answered=False)
    [second] = probing.take(9)
    probing.release(second, answered=True)
    third, fourth = probing.take(9)
    assert probing.answers(third)
    assert numbers([third, fourth]) == [2, 3]
    probing.release(third, answered=False)  # and then it answers no more
    assert probing.take(9) == []
    probing.release(fourth)
    assert numbers(probing.take(9)) == [4]


def test_hosts_that_answer_come_alone_where_no_new_one_is_wanted(probing) -> None:
    probing.load(line(n, f"h{n}.example" if n % 10 else "good.example") for n in range(50))
    [good] = probing.take(1)
    assert probing.take(9, new=0) == []
    probing.release(good, answered=True)
    assert numbers(probing.take(9, new=0)) == [10, 20]
    assert numbers(probing.take(4, new=2)) == [1, 2]
    assert probing.waiting_lines == 45
    assert probing.waiting_hosts == 44


def test_new_hosts_and_those_that_answer_take_turns(probing) -> None:
    probing.load(line(n, f"h{n}.example" if n % 10 else "good.example") for n in range(50))
    taken = []
    while lines := probing.take(1):
        taken += numbers(lines)
        probing.release(lines[0], answered=lines[0].number % 10 == 0)
    assert sorted(taken) == [*range(50)]
    assert [n for n in taken if n % 10 == 0] == [0, 10, 20, 30, 40]
    assert taken[:3] == [0, 1, 2]
    assert taken[-3:] == [20, 30, 40]  # each time behind all hosts that were waiting


def test_lines_that_come_late_for_a_host_that_answers_are_served_as_such(probing) -> None:
    probing.load([line(0)])
    [first] = probing.take(1)
    probing.release(first, answered=True)
    probing.load([line(1)])
    [second] = probing.take(1)
    assert not probing.answers(second)  # it had no lines here, so nothing was kept of it
    probing.load([line(2), line(3)])
    assert probing.take(9) == []
    probing.release(second, answered=True)
    assert numbers(probing.take(9, new=0)) == [2, 3]


def test_a_title_of_the_list_goes_through_the_feeder() -> None:
    futli = Futli(pid=REPEC.pid("RePEc:aaa:bbbbbb:1"), url="http://a.example/1", title="On Money")
    given = Line(number=1, pid_text=str(futli.pid), url_text=futli.url, futli=futli)
    again = LineForm().unpack(1, LineForm().pack(given))
    assert again.futli is not None
    assert (again, again.futli.title) == (given, "On Money")
