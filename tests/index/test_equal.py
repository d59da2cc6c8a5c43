"""Whatever happened, an index brought up to date equals one made anew, row by row."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.index.histories import History, at, futli_of, killed_at, line, pid_of, run_of

OUTCOMES = ("fut", "not-found", "gone", "timeout", "robots", "splap-only", "excluded", "bad-pid",
            "bad-url", "damaged", "dns")  # fmt: skip
papers = st.integers(0, 4)
runs = st.integers(0, 2)
days = st.sampled_from([0.0, 0.5, 1.0, 5.0, 8.0, 20.0, 31.0, 40.0, 40.00002])
lines = st.builds(
    line, papers, days, st.sampled_from(OUTCOMES), which=st.integers(0, 1),
    requests=st.integers(0, 2), content=st.integers(0, 1),
    splap=st.sampled_from([None, "https://host0.example/page", "http://elsewhere.example/"]),
)  # fmt: skip
suwafs = st.tuples(
    st.just("suwaf"), papers,
    st.dictionaries(st.integers(0, 1), st.lists(days, max_size=3, unique=True), max_size=2),
    st.sampled_from(["wpaper", "journl"]), st.booleans(), st.sampled_from(["", "supplement"]),
)  # fmt: skip
events = st.one_of(
    suwafs,
    st.tuples(st.just("feed"), runs, st.lists(lines, max_size=6)),
    st.tuples(st.just("torn"), runs),
    st.tuples(st.just("noise"), runs),
    st.tuples(st.just("report"), runs, st.booleans(), st.sampled_from([None, "finished"])),
    st.tuples(st.just("no run"), runs),
    st.tuples(st.just("shorter"), runs),
    st.tuples(st.just("no suwaf"), papers, st.sampled_from(["wpaper", "journl"])),
    st.tuples(st.just("none"), papers),
    st.tuples(st.just("stray")),
    st.tuples(st.just("no folder"), st.sampled_from(["RePEc/abc/wpaper", "RePEc", "RePEc/abc"])),
    st.tuples(st.just("later"), st.sampled_from([1.0, 60.0])),
    st.tuples(st.just("index"), st.sampled_from([0.0, 0.0, 60.0])),
    st.tuples(st.just("killed"), st.integers(1, 6)),
    st.tuples(st.just("rebuild")),
)  # fmt: skip


class Player:
    """Makes events happen to an archive."""

    def __init__(self, history: History) -> None:
        self.history = history

    def play(self, event: tuple[Any, ...]) -> None:
        name, *values = event
        getattr(self, name.replace(" ", "_"))(*values)

    def suwaf(self, number: int, had: Any, series: str, opened: bool, label: str) -> None:
        left = (futli_of(number, 1),) if opened else ()
        self.history.suwaf(number, had, series=series, opened=left, label=label)

    def feed(self, run: int, told: list[dict[str, Any]]) -> None:
        self.history.feed(run, *told)

    def torn(self, run: int) -> None:
        self.history.feed(run, b'{"pid": "RePEc:abc:wpaper:1", "fut')

    def noise(self, run: int) -> None:
        self.history.feed(run, b"\n", b"[1]\n", b'{"pid": 1}\n', b"\xff\n")

    def report(self, run: int, legacy: bool, reason: str | None) -> None:
        waits = {"parked": [{"host": "host1.example", "times": 2, "longest": 1.5}]}
        arguments = {"legacy": "http://127.0.0.1:1"} if legacy else {}
        self.history.report(run, reason=reason, arguments=arguments, hosts=waits, lines=3)

    def no_run(self, run: int) -> None:
        for path in (self.history.root / "runs").glob(f"{run_of(run)}.*"):
            path.unlink()

    def shorter(self, run: int) -> None:
        path = self.history.feed(run)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    def no_suwaf(self, number: int, series: str) -> None:
        pid = self.history.archive.pid(pid_of(number, series))
        self.history.remove(self.history.archive.suwaf_path(pid))

    def none(self, number: int) -> None:
        pid = self.history.archive.pid(pid_of(number))
        self.history.put(self.history.archive.suwaf_path(pid), b"no suwaf")

    def stray(self) -> None:
        self.history.put(self.history.root / "suwaf" / "RePEc" / "readme.json", b"{}")

    def no_folder(self, name: str) -> None:
        self.history.remove(self.history.root / "suwaf" / name)

    def later(self, seconds: float) -> None:
        self.history.later(seconds)

    def index(self, wait: float) -> None:
        self.history.later(wait)
        self.history.index()
        assert self.history.differences() == []

    def killed(self, step: int) -> None:
        with killed_at(step):
            self.history.index()

    def rebuild(self) -> None:
        self.history.index(anew=True)
        assert self.history.differences() == []


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(events, min_size=1, max_size=25))
def test_after_any_history_an_index_equals_one_made_anew(history: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        player = Player(History(Path(folder, "archive")))
        for event in history:
            player.play(event)
        player.index(0.0)
        player.index(60.0)


def test_a_change_in_the_same_tick_of_the_clock_is_seen(tmp_path: Path) -> None:
    history = History(tmp_path / "archive")
    history.suwaf(1, {0: [1.0]})
    history.index()
    history.suwaf(1, {0: [1.0, 2.0]})
    history.later()
    history.index()
    assert history.rows("SELECT count(*) FROM fut") == [(2,)]
    assert history.differences() == []


def test_a_folder_behind_a_link_that_was_away_for_a_time_comes_back(tmp_path: Path) -> None:
    history = History(tmp_path / "archive")
    history.suwaf(1, {0: [1.0]})
    elsewhere = tmp_path / "disk"
    (history.root / "suwaf/RePEc/abc").rename(elsewhere)
    (history.root / "suwaf/RePEc/abc").symlink_to(elsewhere)
    history.later()
    for there, papers in ((True, 1), (False, 0), (True, 1)):
        if there and not elsewhere.exists():
            (tmp_path / "away").rename(elsewhere)
        elif not there:
            elsewhere.rename(tmp_path / "away")
        history.later()
        account = history.index()
        assert history.rows("SELECT count(*) FROM paper") == [(papers,)]
        assert bool(account.sentences) != there
        assert history.differences() == []


def test_a_link_into_its_own_folder_is_not_followed(tmp_path: Path) -> None:
    history = History(tmp_path / "archive")
    history.suwaf(1, {0: [1.0]})
    (history.root / "suwaf/RePEc/abc/loop").symlink_to(history.root / "suwaf")
    history.index()
    assert history.rows("SELECT count(*) FROM paper") == [(1,)]


def test_feeds_that_come_late_tell_the_same_as_feeds_in_order(tmp_path: Path) -> None:
    told = [line(1, day, word) for day, word in
            ((0, "fut"), (1, "timeout"), (2, "not-found"), (10, "not-found"))]  # fmt: skip
    rows = []
    for name, order in (("a", (0, 1, 2)), ("b", (2, 1, 0)), ("c", (1, 2, 0))):
        history = History(tmp_path / name)
        for run in order:
            mine = {0: told[:1], 1: told[1:3], 2: told[3:]}[run]
            history.feed(run, *mine, *mine)
            history.index()
        rows.append(history.rows("SELECT state, asks, asked, lost_since, lost_by FROM futli"))
        assert history.differences() == []
    assert rows == [[("lost", 4, at(10), at(1), "not-found")]] * 3


def test_a_feed_that_is_cut_to_nothing_is_as_if_it_had_never_been(tmp_path: Path) -> None:
    history = History(tmp_path / "archive")
    history.feed(0, line(1, 0, "gone"), line(2, 1), line(3, 2, requests=0))
    history.report(0, reason=None)
    history.index()
    Player(history).no_run(0)
    history.feed(0)
    history.index()
    assert history.differences() == []
    assert history.rows("SELECT count(*) FROM paper") == [(0,)]


def test_a_copied_archive_has_an_index_like_its_own(tmp_path: Path) -> None:
    history = History(tmp_path / "archive")
    history.suwaf(1, {0: [1.0], 1: []})
    history.feed(1, line(1, 3, "gone"), line(2, 4, "dns"))
    history.index()
    copy = History(Path(shutil.copytree(tmp_path / "archive", tmp_path / "copy")))
    copy.later()
    copy.index()
    assert copy.differences() == []
