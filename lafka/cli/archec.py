"""``lafka archec VERB``: the obi store looked at, checked, mended, taken over."""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from scrapy.settings import BaseSettings
from scrapy.utils.conf import arglist_to_dict

from lafka.archec.checking import check_store
from lafka.archec.checking.facts import proved_since
from lafka.archec.files.fobi_recovery import Obis, recover_fobis
from lafka.archec.gather.found_templates import read_tobi
from lafka.archec.gather.mending import adopted, derive, mend
from lafka.archec.gather.pulls import OfferedCapture, pull
from lafka.archec.gather.recovery import UnlistedFiles, recover
from lafka.archec.gather.runs import run_name
from lafka.archec.gather.tobis import Clocks
from lafka.archec.gather.withdrawing import withdraw
from lafka.archec.records import Kind, Records
from lafka.archec.records.folding import told_of
from lafka.archec.records.opening import anew, catch_up, differences, open_records
from lafka.archec.records.sqlite import NAME
from lafka.archec.serve.queries import StoreHoldings, listed, the_id
from lafka.archec.statistics import check_archive
from lafka.archec.store import tists
from lafka.archec.store.folders import ObiStore
from lafka.cli.base import GroupCommand, GroupVerb
from lafka.cli.obi_reports import add_to_export, add_to_report, export_store, report
from lafka.cli.serving import GATEWAY_PORT, serve_holdings
from lafka.cli.tobi import warn_of_inodes
from lafka.errors import BadArgument, BadPid, BadStore, BadWarc, KeeperError, NotHeld, RecordsAway
from lafka.papers.archive.archives import Archive, StoredFut
from lafka.runs.sources import store_line
from lafka.runs.terminals import program
from lafka.spiders.fobi_arguments import fobi_rules
from lafka.spiders.obi_settings import open_store, records_of, store_root
from lafka.storage.outputs import counted
from lafka.witness.problems import Severity, StoreProblem


def offers(archive: Archive, problems: list[str]) -> Iterator[OfferedCapture]:
    """Yield what each futli itself led to; a fut that was found on a page is not what it
    points at.
    """
    for warc in archive.warcs(lambda path: problems.append(f"{path}: leads nowhere")):
        try:
            found = list(archive.futs_of(archive.pid_at(warc)))
        except (KeeperError, NotHeld, BadPid) as error:
            problems.append(str(error))
            continue
        for fut, origin in found:
            if not origin.html_url:
                when = datetime.fromisoformat(fut.time)
                read = partial(proved, fut)
                yield OfferedCapture(url=fut.futli, answered=fut.url, time=when, read=read)


def proved(fut: StoredFut) -> bytes:
    """The bytes of *fut*; ``BadWarc`` where they are not what its digest says."""
    data = fut.read()
    if fut.digest != f"sha256:{sha256(data).hexdigest()}":
        raise BadWarc(fut.warc, "the fut is not what its digest says", fut.start)
    return data


def _add_to_list(parser: ArgumentParser) -> None:
    events = parser.add_mutually_exclusive_group(required=True)
    for event, what in (
        ("--found", "first seen"),
        ("--noted", "appeared or changed"),
        ("--changed", "changed"),
        ("--lost", "gone"),
    ):
        events.add_argument(event, nargs=2, metavar=("FROM", "TO"), help=f"{what} in that time")
    parser.add_argument("--kind", choices=("tobi", "fobi"), help="only those")
    parser.add_argument("--archive", metavar="CODE", default="", help="tobis of that archive")
    parser.add_argument("--series", metavar="CODE", default="", help="tobis of that series")


def _list(opts: Namespace, settings: BaseSettings) -> int:
    store = open_store(settings)
    event = next(name for name in ("found", "noted", "changed", "lost") if getattr(opts, name))
    begin, end = map(tists.parse, getattr(opts, event))
    with records_of(settings, store) as records:
        check_archive(records, opts.archive)
        for line in listed(store, records, event, begin, end):
            if _is_wanted(opts, line):
                print(json.dumps(line))
    return 0


def _is_wanted(opts: Namespace, line: dict[str, Any]) -> bool:
    kind = Kind.of(line["id"])
    parts = [*line["id"].split(":", 3), "", ""] if kind is Kind.TOBI else ["", "", ""]
    wanted = (opts.kind or "", opts.archive.lower(), opts.series.lower())
    has = (kind, parts[1], parts[2])
    return all(want in ("", had) for want, had in zip(wanted, has, strict=True))


def _add_to_serve(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--port", default=GATEWAY_PORT, metavar="N", help="8732; 0 for a free one")
    add("--bind", default="127.0.0.1", metavar="ADDRESS", help="loopback, unless this says so")
    add("--name", action="append", default=[], metavar="HOST", help="a further Host it is asked by")


def _serve(opts: Namespace, settings: BaseSettings) -> int:
    store = open_store(settings)
    database = settings["LAFKA_CACHING_DATABASE"]

    def opened() -> Records:
        return open_records(store, database, read_only=True)

    opened().close()  # what is wrong with it is told before anybody asks
    serve_holdings("archec serve", opts, lambda: StoreHoldings(store, opened))
    return 0


def _add_to_pull(parser: ArgumentParser) -> None:
    parser.add_argument("archive", metavar="ARCHIVE", help="the root folder of the archive")


def _pull(opts: Namespace, settings: BaseSettings) -> int:
    store, archive = open_store(settings), Archive(opts.archive)
    problems: list[str] = []
    clocks = Clocks(now=lambda: int(time.time()), monotonic=time.monotonic)
    with store.locked(Kind.FOBI), records_of(settings, store, read_only=False) as records:
        obis = Obis(store=store, records=records, rules=fobi_rules(settings))
        problems += [sentence for one in recover_fobis(obis) for sentence in one.problems]
        name, source = run_name(clocks.now(), 0), str(archive.root.resolve())
        found = offers(archive, problems)
        report = pull(store, records, found, source=source, run=name, clocks=clocks)
    for problem in (*problems, *report.problems):
        print(f"{program()} archec pull: {problem}", file=sys.stderr)
    print(json.dumps({"gatherings": report.tists, **dict(sorted(report.counts.items()))}))
    return 1 if problems or report.problems else 0


def _add_to_check(parser: ArgumentParser) -> None:
    parser.add_argument("ids", nargs="*", metavar="ID", help="these handles and URLs alone")
    parser.add_argument("--quick", action="store_true", help="lengths and names, no digests")


def _check(opts: Namespace, settings: BaseSettings) -> int:
    root, errors, count = Path(store_root(settings)), 0, 0
    ids = [the_id(text) for text in opts.ids]
    for problem in problems_of(root, settings, ids, quick=opts.quick):
        print(problem.to_json())
        count += 1
        errors += problem.severity == "error"
    since = "" if ids else _proved(root)
    print(f"{root}: {counted(count, 'problem')}{since}", file=sys.stderr)
    return 1 if errors else 0


def _proved(root: Path) -> str:
    """Say since when the journals prove what they tell."""
    tist = proved_since(root / "journal")
    if tist is None:
        return "; no journal is proved by a chain yet, which the next gathering begins"
    return f"; the journals prove all since {tist} ({tists.to_text(tist)})"


_NO_RECORDS = (KeeperError, BadStore, RecordsAway)


def problems_of(
    root: Path, settings: BaseSettings, ids: Sequence[str], *, quick: bool
) -> Iterator[StoreProblem]:
    """Yield what is wrong with the store at *root*, and then with its database."""
    place = root if settings["LAFKA_CACHING_DATABASE"] else root / NAME
    with ExitStack() as stack:
        records, fault = None, ""
        with suppress(BadStore):
            store = open_store(settings)  # else its marker is told
            warn_of_inodes("archec check", store)
            try:
                records = stack.enter_context(records_of(settings, store))
            except _NO_RECORDS as error:
                fault = str(error)
        known = [records.history(obi) for obi in ids] if records else []
        tists = {tist for obi in known if obi for tist, _ in obi.versions}
        walk = (row for kind in Kind for row in told_of(records.walk(kind) if records else ()))
        yield from check_store(
            root, quick=quick, ids=ids, rows=walk if quick and records else None,
            tists=tists if known and None not in known else None,
        )  # fmt: skip
        if fault and not ids:
            severity: Severity = "error" if place.exists() else "warning"
            yield StoreProblem(path=place, code="bad-records", sentence=fault, severity=severity)
        elif records and not ids and not quick:
            yield from _of_records(place, store, records)


def _of_records(place: Path, store: ObiStore, records: Records) -> Iterator[StoreProblem]:
    try:
        for sentence in records.faults():
            yield StoreProblem(path=place, code="bad-records", sentence=sentence)
        for sentence in differences(store, records):
            yield StoreProblem(path=place, code="records-differ", sentence=sentence)
    except (*_NO_RECORDS, ValueError) as error:  # a value that no database of ours has
        yield StoreProblem(path=place, code="bad-records", sentence=str(error))


def _add_to_recover(parser: ArgumentParser) -> None:
    pass


def _recover(opts: Namespace, settings: BaseSettings) -> int:  # noqa: ARG001
    store = open_store(settings)
    with store.locked(Kind.TOBI), records_of(settings, store, read_only=False) as records:
        count = _tobis(store, records)
    with store.locked(Kind.FOBI), records_of(settings, store, read_only=False) as records:
        found, problems = _fobis(store, records, settings)
    print(f"{count + found} gatherings recovered", file=sys.stderr)
    return 1 if problems else 0


def _tobis(store: ObiStore, records: Records) -> int:
    count = 0
    for found in recover(store, records, Kind.TOBI, UnlistedFiles(read_tobi=read_tobi)):
        count += 1
        print(
            f"{found.tist}: {found.rolled} tobis rolled forward,"
            f" {found.removed} drafts and links removed, {found.torn} bytes torn"
        )
    return count


def _fobis(store: ObiStore, records: Records, settings: BaseSettings) -> tuple[int, int]:
    """Return how many gatherings were ended, how many problems there are."""
    count = problems = 0
    obis = Obis(store=store, records=records, rules=fobi_rules(settings))
    for one in recover_fobis(obis, keep=settings.getbool("LAFKA_KEEP_RAW")):
        if one.taken:
            count += one.taken.ended
            print(f"{one.run or 'no raw log'}: {one.taken.ended} gatherings ended,"
                  f" {one.taken.stored} fobis stored")  # fmt: skip
        for problem in one.problems:
            problems += 1
            print(f"{program()} archec recover: {problem}", file=sys.stderr)
    return count, problems


def _add_to_mend(parser: ArgumentParser) -> None:
    parser.add_argument("--from", dest="copy", metavar="DIR", help="a copy of this store")


def _mend(opts: Namespace, settings: BaseSettings) -> int:
    store, code = open_store(settings), 0
    copy = Path(opts.copy) if opts.copy else None
    if copy and not copy.is_dir():
        raise BadArgument(f"--from {copy}: no folder")
    with ExitStack() as stack:
        for kind in Kind:
            stack.enter_context(store.locked(kind))
        for one in mend(store, settings["LAFKA_CACHING_DATABASE"], copy):
            print(f"{one.path}: {one.sentence}")
            code |= not one.is_known
    return code


def _add_to_rebuild(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--from-files", action="store_true", help="write journals for folders that have none"
    )


def _rebuild(opts: Namespace, settings: BaseSettings) -> int:
    store, code = open_store(settings), 0
    with ExitStack() as stack:
        for kind in Kind:
            stack.enter_context(store.locked(kind))
        database = settings["LAFKA_CACHING_DATABASE"]
        records = stack.enter_context(anew(store, database, derives=opts.from_files))
        if opts.from_files:
            for derived in derive(store, records):
                print(f"{derived.tist}: a journal for {derived.obis} obis")
                for path in derived.strange:
                    print(f"{program()} archec rebuild: {path}: no obi's", file=sys.stderr)
                    code = 1
        else:
            catch_up(store, records)
        print(f"{len(records.gatherings())} gatherings in the records", file=sys.stderr)
    return code


def _add_to_adopt(parser: ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="the folder that holds 032/184/2531/...")


def _adopt(opts: Namespace, settings: BaseSettings) -> int:  # noqa: ARG001
    store, code, obis = adopted(opts.folder), 0, 0
    with ExitStack() as stack:
        for kind in Kind:
            stack.enter_context(store.locked(kind))
        for derived in derive(store, stack.enter_context(anew(store))):
            obis += derived.obis
            for path in derived.strange:
                print(f"{program()} archec adopt: {path}: no obi's, left as it is", file=sys.stderr)
                code = 1
    print(f"{obis} obis taken over; set LAFKA_OBJECT_STORE={store.root}", file=sys.stderr)
    return code


def _add_to_withdraw(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a handle or URL")
    parser.add_argument("tist", metavar="TIST", help="when the version was noted")
    parser.add_argument("--why", metavar="TEXT", default="", help="told to whoever asks for it")


def _withdraw(opts: Namespace, settings: BaseSettings) -> int:
    obi, tist, store = the_id(opts.id), tists.parse(opts.tist), open_store(settings)
    clocks = Clocks(now=lambda: int(time.time()), monotonic=time.monotonic)
    run = run_name(clocks.now(), 0)
    with (
        store.locked(Kind.of(obi)),
        records_of(settings, store, read_only=False) as records,
    ):
        done = withdraw(store, records, obi, tist, why=opts.why, run=run, clocks=clocks)
    if done.others:
        print(f"{program()} archec withdraw: {done.others} other versions have the same bytes, and"
              " lose them where this file is emptied", file=sys.stderr)  # fmt: skip
    print(done.place)
    return 0


VERBS = {
    "list": GroupVerb(
        "list what was found, noted, changed or lost in a time, oldest first, a JSON line each",
        (
            "lafka archec list --lost 2026-11-01 2026-12-01 --archive nbr",
            "lafka archec list --found 2026-11-01 2026-12-01",
        ),
        _add_to_list,
        _list,
    ),
    "report": GroupVerb(
        "tell what the store holds, what was lost and whose links rot",
        ("lafka archec report --by archive -o report.csv", "lafka archec report"),
        add_to_report,
        report,
    ),
    "export": GroupVerb(
        "write the store, or a part, as WARC files with a CDXJ index, for any replay program",
        ("lafka archec export repec-warcs --archive nbr", "lafka archec export all-warcs"),
        add_to_export,
        export_store,
    ),
    "serve": GroupVerb(
        "serve the store read-only by Memento (RFC 7089), on loopback",
        ("lafka archec serve --port 8732", "lafka archec serve"),
        _add_to_serve,
        _serve,
    ),
    "pull": GroupVerb(
        "take in the futs of an archive of papers whose futlis templates of the store point at",
        ("lafka archec pull archive",),
        _add_to_pull,
        _pull,
    ),
    "check": GroupVerb(
        "hold every file and the database against the journals, a JSON line a problem",
        ("lafka archec check --quick || echo damaged", "lafka archec check"),
        _add_to_check,
        _check,
    ),
    "recover": GroupVerb(
        "end what killed runs of tobi and fobi left, as their next run would",
        ("lafka archec recover",),
        _add_to_recover,
        _recover,
    ),
    "mend": GroupVerb(
        "put damaged journals right: by their chains, from a copy, or from the store's files",
        ("lafka archec mend --from /srv/backup/archec/archive", "lafka archec mend"),
        _add_to_mend,
        _mend,
    ),
    "rebuild": GroupVerb(
        "make the database again from the journals",
        ("lafka archec rebuild --from-files", "lafka archec rebuild"),
        _add_to_rebuild,
        _rebuild,
    ),
    "adopt": GroupVerb(
        "take over a store of the first ArchEc, as it is and where it is",
        ("lafka archec adopt /srv/archec/archive",),
        _add_to_adopt,
        _adopt,
    ),
    "withdraw": GroupVerb(
        "note that a version is taken down; prints the file that the operator then empties",
        ("lafka archec withdraw http://x.example/1.pdf 1352481230 --why 'a court, 2 O 5/26'",),
        _add_to_withdraw,
        _withdraw,
    ),
}

WRITING = ("pull", "recover", "mend", "rebuild", "adopt", "withdraw")


class ArchecCommand(GroupCommand):
    verbs = VERBS

    def add_to(self, verb: ArgumentParser) -> None:
        verb.add_argument("-s", dest="also", action="append", default=[], metavar="NAME=VALUE")

    def act(self, opts: Namespace) -> int:
        self.settings.setdict(arglist_to_dict(opts.also), priority="cmdline")
        if opts.verb in WRITING:
            line = store_line(self.settings, getattr(opts, "folder", None))
            print(line, file=sys.stderr, flush=True)
        code: int = opts.act(opts, self.settings)
        return code
