"""Trouble of the disk is never told as a fault of a site, whoever meets and catches it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crawls.running import ROOT
from tests.faults import invariants
from tests.faults.crawls import Crawls
from tests.faults.kills import Ordeal
from tests.faults.sites import FaultSite

SENTENCE = "(?:The disk|A limit of this machine) stopped the crawl: "
ROOMS = (
    "politeness", "capture", "papers/crawling", "runs", "spiders", "pipelines.py",
    "storage/children.py",
)  # fmt: skip
BROAD = {"Exception", "BaseException", "OSError", "StorageTrouble", "OperatorError", "LafkaError"}
TAPS, ROBOTS = "lafka.capture.exchanges:Spool", "lafka.politeness.robots:RobotsMiddleware"
# Where something broad is caught, and what is refused to see what becomes of it there.
CATCHES: dict[str, tuple[str, ...]] = {
    "politeness/robots.py _ask": (f"{ROBOTS}._fetch 2",),
    "politeness/robots.py _fetch": (
        f"{ROBOTS}._read 1",
        "lafka.capture.rawlog:RawLog.record 1",
        "lafka.capture.handler:ExactDownloadHandler._exchange 1",
    ),
    "capture/exchanges.py _write": (
        "lafka.capture.exchanges:_write_at 1",
        "tempfile:TemporaryFile 1",
    ),
    "capture/exchanges.py trim": ("lafka.capture.exchanges:Spool.trim 1",),
    "capture/exchanges.py read": (f"{TAPS}.read 1", f"{TAPS}.read 12"),
    "capture/handler.py _download": ("lafka.capture.handler:ExactDownloadHandler._exchange 4",),
    "capture/leftovers.py leftovers": ("lafka.pipelines:recover 1",),
    "capture/leftovers.py locked_folder": ("lafka.capture.rawlog:locked_folder 1",),
    "capture/middlewares.py _record": ("lafka.capture.rawlog:RawLog.record 5",),
    "capture/rawfiles.py room_for": ("lafka.warc.writing.appending:Appender.create 1",),
    "capture/rawfiles.py append_group": ("lafka.capture.rawfiles:RawFiles.append_group 3",),
    "capture/recording.py receive": (f"{TAPS}.append 1", f"{TAPS}.append 6"),
    "spiders/road.py start": (
        "lafka.papers.lists.futlis:Feeder.take 2",
        "lafka.papers.lists.futlis:Feeder._take_turns 1",
    ),
    "spiders/road.py _load": ("lafka.papers.lists.futlis:Feeder._store_batch 1",),
    "spiders/futli.py _verdict": ("lafka.papers.archive.archives:Archive.held 2",),
    "spiders/futli.py parse": (
        "lafka.storage.children:started 1",
        "lafka.papers.crawling.captures:PageReaders._ask 1",
    ),
    "pipelines.py _await_recovery": ("lafka.pipelines:PaperWarcPipeline._recover 1",),
    "pipelines.py process_item": ("lafka.pipelines:PaperWarcPipeline._storing 2",),
    "runs/feed.py _work": ("lafka.runs.feed:write_all 1",),
    "runs/reporting.py spider_opened": ("lafka.runs.reporting:close_killed 1",),
}
LATE = {
    "capture/run.py spider_closed": "lafka.capture.rawlog:RawLog.close 1",
    "runs/reporting.py engine_stopped": "lafka.runs.reports:OpenReport.save 2",
}
"""When all is stored: the trouble is told, and the run has ended before."""
BY_OTHERS = {
    "papers/crawling/pdf_fronts.py _answer": "tests/papers/crawling/test_insides.py",
    "papers/crawling/pages.py read_first": "tests/papers/crawling/test_pages.py",
    "papers/crawling/pages.py read": "tests/papers/crawling/test_pages.py",
    "politeness/feeder.py _storage": "tests/papers/lists/test_feeder.py",
    "capture/readback.py recovered": "tests/archec/faults/test_kills.py",
    "pipelines.py open_spider": "tests/archec/faults/test_fobi_crawls.py",
    "pipelines.py close_spider": "tests/archec/faults/test_fobi_crawls.py",
    "spiders/fobi.py from_crawler": "lets go of its lock, and raises",
    "politeness/failures.py without_frames": "copies an error, in memory",
    "politeness/claims.py abort": "the gate's socket, no file",
    "papers/crawling/fleetinput.py _turn": "Kafka's socket, no file",
    "spiders/futli.py engine_stopped": "outcomes that Kafka did not take are told again",
    "runs/metrics.py collect": "tests/runs/test_metrics.py",
    "runs/metrics.py check_port": "before a crawl: a bad setting",
    "capture/certificates.py verdict": "tests/capture/test_certificates.py",
    "capture/recording.py secure": "tests/capture/test_certificates.py",
    "capture/recording.py _ends_like_one": "tests/capture/test_handler.py",
    "capture/resolving.py can_look_up": "tests/politeness/test_canary.py",
    "capture/resolving.py _ask": "tests/crawls/test_disk.py",
    "capture/leftovers.py _begins_as_ours": "what cannot be opened stays, as a stranger's",
    "capture/leftovers.py _is_file": "what cannot be looked at is not taken for ours",
    "capture/leftovers.py remove": "another recovery has its lock there",
    "capture/rawfiles.py load_settings": "before a crawl: a bad argument",
    "storage/children.py closed": "a pipe to a child that has gone",
    "storage/children.py started": "tests/crawls/test_disk.py",
    "storage/children.py _trouble_of_settling": "tests/storage/test_children.py",
    "capture/client/connections.py _has_unread": "tests/capture/test_connections.py",
    "capture/client/connections.py _acknowledged": "the connection's socket, no file",
    "capture/client/connections.py ask": "the connection's socket, no file",
    "politeness/gate.py _stopping": "tests/jobs/test_gate.py",
    "runs/sources.py _of_files": "before a crawl: a bad argument",
    "spiders/fobi_arguments.py _ids": "before a crawl: a bad list",
    "spiders/fobi_arguments.py _guard_of": "a page that cannot be read is no guard's",
    "capture/pulled.py __exit__": "the gateway's socket, no file",
    "capture/pulled.py _answer_at": "the gateway's socket, no file",
    "capture/pulled.py _body": "the gateway's socket; what a spool raises passes",
    "capture/recording.py _take": "the sink is told, and the file's ingest with it",
    "papers/crawling/heldlines.py _held_fut": "the line is left to who looks again, and tells",
    "papers/crawling/summaries.py lost": "losses are not known then: nothing is said of them",
    "runs/reports.py merge_runs": "no crawl: `lafka merge` ends with what the disk says",
    "runs/reports.py last_of_list": "a report of another run that cannot be read is passed over",
    "runs/terminals.py _columns": "a terminal, no file",
    "runs/terminals.py _put": "a terminal, no file",
    "runs/terminals.py flush": "a terminal, no file",
    "spiders/fileset.py _forget_attempts": "counts of begins stay, and the crawl is told of it",
    "spiders/fileset.py _ingest": "tests/filesets/crawls/test_kills.py",
    "spiders/fileset.py _read": "tests/filesets/crawls/test_kills.py",
    "runs/feed.py _append_synced": "cuts off what was refused, and raises",
    "runs/reporting.py peak_memory": "/proc",
    "runs/reports.py _opening": "tests/runs/test_reports.py",
    "runs/reports.py _read": "tests/runs/test_reports.py",
    "runs/reports.py close_killed": "a draft that is none of ours to remove",
}
# Our own word for it where it is made within, else what the system says.
WITHIN = re.compile(
    r"exchanges:Spool|RawFiles|Feeder|recover|close_killed|_storing |has_fut|Archive.held"
)
KINDS = ("ENOSPC", "EIO", "EDQUOT", "EROFS")


def handlers() -> Iterator[str]:
    """Each function of the rooms that catches something broad, by file and name."""
    for room in ROOMS:
        place = ROOT / "lafka" / room
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_broad(node):
                    yield f"{path.relative_to(ROOT / 'lafka')} {node.name}"


def _is_broad(function: ast.AST) -> bool:
    for node in ast.walk(function):
        caught: list[ast.AST | None] = []
        if isinstance(node, ast.ExceptHandler):
            caught = [node.type]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
            caught = [*node.args]
        for each in caught:
            if each is None or {n.id for n in ast.walk(each) if isinstance(n, ast.Name)} & BROAD:
                return True
    return False


def test_whoever_catches_something_broad_is_tried() -> None:
    assert set(handlers()) == {*CATCHES, *LATE, *BY_OTHERS}


def troubles() -> Iterator[str]:
    for place, each in enumerate(what for refused in CATCHES.values() for what in refused):
        kind = "StorageTrouble" if WITHIN.search(each) else KINDS[place % len(KINDS)]
        yield f"{each} {kind}"
    yield f"{ROBOTS}._read 1 StorageTrouble"
    yield "lafka.papers.archive.archives:Archive.held 2 EIO"
    yield "lafka.papers.crawling.captures:PageReaders._ask 1 StorageTrouble"


@pytest.fixture(scope="module")
def paged() -> Iterator[FaultSite]:
    with FaultSite(1, pages=True) as site:
        yield site


@pytest.mark.forms(count=3)
@pytest.mark.parametrize("trouble", [*troubles()])
def test_it_stops_the_crawl_and_blames_no_site(
    crawls: Crawls, paged: FaultSite, trouble: str
) -> None:
    ordeal = Ordeal(crawls, paged)
    run = crawls.run(
        ordeal.archive, ordeal.list_, ordeal.plan(),
        SPIDER_MODULES="tests.crawls.troubled", TROUBLE=trouble,
    )  # fmt: skip
    ordeal.look(run)
    assert run.code == 1, run.log
    assert len(re.findall(SENTENCE, run.log)) == 1, run.log
    assert "'finish_reason': 'storage-trouble'" in run.log, run.log
    assert "Traceback" not in run.log, run.log
    expected = {(line.pid, line.url): line.outcome for line in paged.lines}
    for line in [line for told in invariants.acknowledged(ordeal.archive) for line in told]:
        assert line["outcome"] == expected[line["pid"], line["futli"]], line
    ordeal.finish()
    assert ordeal.troubles == []


@pytest.mark.parametrize("trouble", [f"{each} StorageTrouble" for each in LATE.values()])
def test_it_is_told_although_the_list_has_ended(
    crawls: Crawls, paged: FaultSite, trouble: str
) -> None:
    ordeal = Ordeal(crawls, paged, 3)
    run = crawls.run(
        ordeal.archive, ordeal.list_, ordeal.plan(),
        SPIDER_MODULES="tests.crawls.troubled", TROUBLE=trouble,
    )  # fmt: skip
    assert run.code == 1, run.log
    assert len(re.findall(SENTENCE, run.log)) == 1, run.log
    ordeal.finish()
    assert ordeal.troubles == []


def test_reasons_that_name_a_test_name_one_that_is_there() -> None:
    for reason in BY_OTHERS.values():
        assert not reason.startswith("tests/") or Path(ROOT, reason).exists()
