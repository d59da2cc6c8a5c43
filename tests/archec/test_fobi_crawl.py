"""A real ``lafka crawl fobi`` over a site that changes: what is told is what was made."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import time
from collections import defaultdict
from pathlib import Path

import pytest

from lafka.archec.records import Kind
from lafka.archec.serve.queries import ObiQuery, listed
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.tists import LAST
from tests import starts
from tests.archec.crawling import (
    EVERY_RUN,
    command,
    crawl,
    evidence,
    fobi_lines,
    sound,
    template,
    told,
)
from tests.archec.stores import Home
from tests.crawls.running import ROOT
from tests.sites.papers import as_pdf, pdf
from tests.sites.server import Handler, Reply, Seen, Server, chunked, redirect, reply
from tests.waiting import LIMIT

HOST = "127.0.0.2"
MANY = tuple(f"127.0.0.{n}" for n in range(10, 21))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, now=int(time.time()) - 9_000)


def put(home: Home, *urls: str, **more: str) -> None:
    """RePEc data with one paper that points at *urls*, taken in by a run of tobi."""
    home.put({"abc/wpaper/1.rdf": template(1, *urls, **more)}, mtime=home.now - 9)
    home.tobi()
    home.now -= 86_400 - 600


def tagged(body: bytes, tag: str) -> Handler:
    """A server that keeps its word: 304 where the tag is the one that was sent."""

    def answer(seen: Seen) -> Reply:
        if seen.headers.get("If-None-Match") == tag:
            return Reply(f"HTTP/1.1 304 Not Modified\r\nETag: {tag}\r\n\r\n".encode())
        return as_pdf(body, f"ETag: {tag}")

    return answer


def page(text: str, counter: int) -> Reply:
    return reply(f"<html><body><p>{text}</p><script>n={counter}</script></body></html>".encode())


def incidences(home: Home, begin: int) -> dict[str, list[str]]:
    """The incidences of each fobi that the journals from the tist *begin* on tell, in order."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in fobi_lines(home):
        if line["tist"] >= begin and line["e"] not in ("visit", "miss"):
            found[line["id"]].append(line["e"])
    return dict(found)


def test_the_history_that_is_told_is_the_one_that_was_made(home):
    with Server((HOST,)) as site:
        at = site.at(HOST)
        names = ("a.pdf", "b.pdf", "c", "d.html", "e.pdf", "f.pdf", "g.pdf", "h.pdf", "j.pdf")
        url = {name: f"{at}/{name}" for name in (*names, "c2", "i.pdf")}
        one, two, three = pdf("one"), pdf("two"), pdf("three")

        def lie(seen: Seen) -> Reply:
            if seen.headers.get("If-None-Match"):
                return Reply(b"HTTP/1.1 304 Not Modified\r\n\r\n")
            return as_pdf(pdf(f"lie {len(lies)}"), 'ETag: "always"')

        lies: list[int] = []
        site.routes |= {
            "/a.pdf": tagged(one, '"1"'), "/b.pdf": as_pdf(two), "/c": redirect("/c2"),
            "/c2": as_pdf(three), "/d.html": page("words", 1), "/e.pdf": as_pdf(pdf("e")),
            "/f.pdf": as_pdf(pdf("f")), "/g.pdf": as_pdf(one), "/h.pdf": as_pdf(pdf("h")),
            "/j.pdf": lie,
        }  # fmt: skip
        made: dict[str, list[tuple[str, bytes]]] = defaultdict(list)
        put(home, *(url[name] for name in names))
        first = crawl(home)
        for name, bytes_ in {
            "a.pdf": one,
            "b.pdf": two,
            "c": three,
            "c2": three,
            "e.pdf": pdf("e"),
            "f.pdf": pdf("f"),
            "g.pdf": one,
            "h.pdf": pdf("h"),
            "j.pdf": pdf("lie 0"),
            "d.html": page("words", 1).data.partition(b"\r\n\r\n")[2],
        }.items():
            made[name].append(("appearance", bytes_))  # fmt: skip
        assert first.outcomes() == {url[name]: "appearance" for name in names}
        assert first.run.troubles() == []
        assert (first.report["reason"], first.report["done"]) == ("finished", True)
        assert first.report["summary"]["groups"]["stored"] == len(names)
        assert f"  stored    {len(names):>9,} 100.0%  appearance {len(names)}" in first.run.log
        sound(home)

        lies.append(1)
        site.routes |= {
            "/b.pdf": as_pdf(pdf("b2")), "/d.html": page("words", 2), "/e.pdf": page("gone", 1),
            "/f.pdf": reply(b"no", status="410 Gone"), "/i.pdf": as_pdf(pdf("i")),
        }  # fmt: skip
        site.forget()
        put(home, *(url[name] for name in (*names, "i.pdf") if name != "h.pdf"))
        second = crawl(home)
        made["b.pdf"].append(("change", pdf("b2")))
        made["e.pdf"].append(("change", page("gone", 1).data.partition(b"\r\n\r\n")[2]))
        made["f.pdf"].append(("deletion", b""))
        made["i.pdf"].append(("appearance", pdf("i")))
        assert second.outcomes() == {
            url["a.pdf"]: "visit", url["b.pdf"]: "change", url["c"]: "visit",
            url["d.html"]: "visit", url["e.pdf"]: "change", url["f.pdf"]: "deletion",
            url["g.pdf"]: "visit", url["i.pdf"]: "appearance", url["j.pdf"]: "visit",
        }  # fmt: skip
        assert second.lines[url["a.pdf"]]["status"] == second.lines[url["j.pdf"]]["status"] == 304
        assert second.lines[url["f.pdf"]]["error"] == "410"
        assert "/h.pdf" not in site.targets()
        # Nobody points at c2 but c, which is asked for in its place.
        assert second.report["list"]["left_out"] == {"orphans": 2}
        assert [one_["soft"] for one_ in fobi_lines(home) if one_.get("soft")] == [True]
        sound(home)

        site.routes |= {
            "/a.pdf": tagged(two, '"2"'), "/b.pdf": reply(b"", status="410 Gone"),
            "/c": as_pdf(pdf("c3")), "/c2": redirect("/c"), "/d.html": page("other words", 3),
            "/e.pdf": as_pdf(pdf("e")), "/f.pdf": as_pdf(pdf("f")),
        }  # fmt: skip
        put(home, *(url[name] for name in (*names, "i.pdf", "c2") if name != "h.pdf"))
        site.forget()
        third = crawl(home, "-a", "due=all")
        made["a.pdf"].append(("change", two))
        made["b.pdf"].append(("deletion", b""))
        made["c"].append(("change", pdf("c3")))
        made["c2"].append(("change", pdf("c3")))
        made["d.html"].append(("change", page("other words", 3).data.partition(b"\r\n\r\n")[2]))
        made["e.pdf"].append(("change", pdf("e")))
        made["f.pdf"].append(("appearance", pdf("f")))
        made["j.pdf"].append(("change", pdf("lie 1")))
        assert not any("If-None-Match" in seen.headers for seen in site.seen)
        assert third.run.troubles() == []
        sound(home)

        store = ObiStore(home.archive)
        with home.records() as records:
            for name, events in made.items():
                looking = ObiQuery(store, records, url[name])
                versions = list(map(json.loads, looking.versions()))
                assert [one_["e"] for one_ in versions] == [event for event, _ in events], name
                bytes_ = [b"" if one_["e"] == "deletion" else store.read(one_["tist"], url[name])
                          for one_ in versions]  # fmt: skip
                assert bytes_ == [data for _, data in events], name
            everything = {event: [(one_["tist"], one_["id"]) for one_ in listed(
                store, records, event, 100_000_000, LAST) if Kind.of(one_["id"]) is Kind.FOBI]
                for event in ("noted", "changed", "lost")}  # fmt: skip
        runs = [one_.report["gatherings"][0] for one_ in (first, second, third)]
        assert everything["lost"] == [(runs[1], url["f.pdf"]), (runs[2], url["b.pdf"])]
        assert sorted(everything["changed"]) == sorted(
            (run, url[name])
            for run, changed in ((runs[1], ("b.pdf", "e.pdf")),
                                 (runs[2], ("a.pdf", "c", "c2", "d.html", "e.pdf", "j.pdf")))
            for name in changed
        )  # fmt: skip
        assert len(everything["noted"]) == sum(
            event != "deletion" for events in made.values() for event, _ in events
        )
        done = starts.verb(
            "lafka", "obi", "--versions", url["b.pdf"], "-s", f"LAFKA_OBJECT_STORE={home.archive}"
        )
        said = [json.loads(line)["e"] for line in done.stdout.splitlines()]
        assert said == ["appearance", "change", "deletion"]

        # What lies where: held content is a link, a redirect is one, and no byte is there twice.
        linked = sorted(
            path.rpartition("%2F")[2]
            for path, one_ in home.objects().items()
            if isinstance(one_, str)
        )
        assert linked[1:] == ["c", "c2", "e.pdf", "f.pdf", *linked[5:]]
        assert {linked[0], *linked[5:]} <= {"a.pdf", "g.pdf"}
        files = [one_ for one_ in home.objects().values() if isinstance(one_, bytes)]
        assert len(files) == len(set(files))

        before, kept = home.objects(), sorted((home.archive / "evidence").iterdir())
        lines = len(fobi_lines(home))
        again = crawl(home)
        assert set(again.outcomes().values()) == {"visit"}
        assert home.objects() == before
        assert sorted((home.archive / "evidence").iterdir()) == kept
        assert {one_["e"] for one_ in fobi_lines(home)[lines:]} == {"visit"}
        sound(home)


def test_evidence_has_each_hop_and_of_the_last_answer_the_head_alone(home):
    with Server((HOST,)) as site:
        at = site.at(HOST)
        site.routes |= {"/a": redirect("/b"), "/b": as_pdf(pdf("b"), "X-Odd:  1")}
        put(home, f"{at}/a")
        run = crawl(home)
        [tist] = run.report["gatherings"]
        records = evidence(home, tist)
        assert [(kind, url) for kind, url, _, _ in records] == [
            ("warcinfo", ""), ("request", f"{at}/a"), ("response", f"{at}/a"),
            ("request", f"{at}/b"), ("response", f"{at}/b"),
        ]  # fmt: skip
        assert f"Obi: {at}/a\r\n".encode() in records[0][3]
        assert records[2][3].endswith(b"\r\n\r\ngone there")
        fields, head = records[4][2], records[4][3]
        assert head.endswith(b"\r\n\r\n")
        assert b"X-Odd:  1\r\n" in head
        line = next(one for one in fobi_lines(home) if one["id"] == f"{at}/b")
        assert fields.first("WARC-Truncated") == "unspecified"
        assert fields.first("WARC-Payload-Digest") == f"sha256:{line['sha256']}"
        assert fields.first("Lafka-Obi") == f"{at}/b"
        assert (home.archive / fields.first("Lafka-Path")).read_bytes() == pdf("b")
        assert int((home.archive / fields.first("Lafka-Path")).stat().st_mtime) <= time.time()


def test_what_sites_send_is_stored_decoded_or_missed_with_its_outcome(home):
    challenge = (
        "<html><head><title>Just a moment...</title></head><body>Checking your browser"
        '<script src="/cdn-cgi/challenge-platform/x.js"></script></body></html>'
    )
    login = (
        "<html><head><title>Log in</title></head><body><form><input type=password></form></body>"
    )
    chain = MANY[0]
    with Server((HOST, *MANY)) as site:
        at = site.at(HOST)
        body, junk = pdf("body"), b"\r\njunk " + pdf("junk")
        site.robots = {MANY[1]: reply(b"User-agent: *\nDisallow: /private\n", "text/plain")}
        hops = {
            f"/hop/{n}": redirect(f"{site.at(MANY[(n + 1) % 11])}/hop/{n + 1}") for n in range(10)
        }
        site.routes |= hops | {
            "/hop/10": as_pdf(pdf("far")),
            "/chunked": chunked(body[:100], body[100:]),
            "/gzip": as_pdf(gzip.compress(body), "Content-Encoding: gzip"),
            "/junk": as_pdf(junk),
            "/loop": redirect("/loop2"), "/loop2": redirect("/loop"),
            "/unasked": Reply(b"HTTP/1.1 304 Not Modified\r\n\r\n"),
            "/challenge": reply(challenge.encode()), "/login": reply(login.encode()),
            "/401": reply(b"x", status="401 Who"), "/403": reply(b"x", status="403 No"),
            "/404": reply(b"x", status="404 Not Found"), "/410": reply(b"x", status="410 Gone"),
            "/501": reply(b"x", status="501 Never"), "/204": Reply(b"HTTP/1.1 204 No\r\n\r\n"),
            "/206": reply(body, status="206 Part"),
            "/cut": reply(body[:50], "application/pdf", length=len(body), then="close"),
            "/big": as_pdf(pdf("big", 90_000)),
            "/wall": lambda seen: (as_pdf(pdf("wall")) if "w=1" in seen.headers.get("Cookie", "")
                                   else redirect("/wall", "302 Found", "Set-Cookie: w=1")),
            "/empty": reply(b""), "/json": reply(b'{"a": 1}', "application/json"),
        }  # fmt: skip
        stored = {"/gzip": body, "/chunked": body, "/junk": junk, "/wall": pdf("wall"),
                  "/empty": b"", "/json": b'{"a": 1}'}  # fmt: skip
        missed = {
            "/loop": "loop", "/unasked": "bad-http", "/challenge": "bot-challenge",
            "/login": "login", "/401": "refused", "/403": "refused", "/404": "not-found",
            "/410": "gone", "/501": "server-error", "/204": "bad-http", "/206": "refused",
            "/cut": "truncated", "/big": "too-big",
        }  # fmt: skip
        far = f"{site.at(chain)}/hop/0"
        others = {f"{site.at(MANY[1])}/private/x": "robots", "http://10.9.8.7/x.pdf": "refused",
                  "http://127.0.0.99:1/x.pdf": "connection"}  # fmt: skip
        put(home, *(f"{at}{path}" for path in (*stored, *missed)), far, *others,
            "ftp://x.example/a.pdf")  # fmt: skip
        run = crawl(home, LAFKA_MAX_PAYLOAD=80_000, RETRY_TIMES=0)
        expected = {f"{at}{path}": "appearance" for path in stored} | {far: "appearance"}
        expected |= {f"{at}{path}": outcome for path, outcome in missed.items()} | others
        assert run.outcomes() == expected
        assert run.report["list"]["left_out"] == {"ftp": 1}
        store, [tist] = ObiStore(home.archive), run.report["gatherings"]
        for path, data in stored.items():
            assert store.read(tist, f"{at}{path}") == data, path
        assert store.read(tist, far) == pdf("far")
        assert len(run.lines[far]["way"]) == 11
        assert {line["e"] for line in fobi_lines(home)} == {"appearance", "miss"}
        sound(home)


def test_a_304_from_another_than_gave_the_tag_is_not_believed(home):
    with Server((HOST,)) as site:
        at = site.at(HOST)
        site.routes |= {"/a": redirect("/one"), "/one": tagged(pdf("one"), '"same"'),
                        "/two": tagged(pdf("two"), '"same"')}  # fmt: skip
        put(home, f"{at}/a")
        crawl(home)
        site.routes["/a"] = redirect("/two")
        site.forget()
        second = crawl(home)
        assert second.lines[f"{at}/a"]["outcome"] == "change"
        assert second.lines[f"{at}/a"]["requests"] == 4
        [tist] = second.report["gatherings"]
        assert ObiStore(home.archive).read(tist, f"{at}/a") == pdf("two")
        third = crawl(home)
        assert (third.lines[f"{at}/a"]["status"], third.lines[f"{at}/a"]["requests"]) == (304, 2)
        assert told(fobi_lines(home))[-2:] == [("visit", f"{at}/a"), ("visit", f"{at}/two")]
        sound(home)


def test_a_blank_is_asked_for_as_such_first_and_left_out_where_that_is_not_found(home):
    with Server((HOST,)) as site:
        at = site.at(HOST)
        site.routes |= {"/ab.pdf": as_pdf(pdf("ab")), "/c%20d.pdf": as_pdf(pdf("cd"))}
        put(home, f"{at}/a b.pdf", f"{at}/c d.pdf")
        run = crawl(home)
        assert run.outcomes() == {
            f"{at}/a%20b.pdf": "not-found", f"{at}/ab.pdf": "appearance",
            f"{at}/c%20d.pdf": "appearance",
        }  # fmt: skip
        assert run.report["done"] is True
        assert "/cd.pdf" not in site.targets()
        again = crawl(home)
        assert again.outcomes() == {f"{at}/ab.pdf": "visit", f"{at}/c%20d.pdf": "visit"}
        sound(home)


def test_a_second_run_at_once_is_refused_and_arguments_are_checked(home):
    put(home)
    store = ObiStore(home.archive)
    lock = store.lock(Kind.FOBI)
    try:
        refused = crawl(home, expected=2)
    finally:
        os.close(lock)
    assert refused.run.log.splitlines()[-1].startswith("lafka crawl: ")
    assert f"held by process {os.getpid()} on " in refused.run.log
    for arguments, sentence in (
        (("-a", "input=x"), "unknown argument 'input'; the spider's arguments are due, "),
        (("-a", "due=often"), "due='often' is neither due, all nor an age such as 30d"),
        (("-s", "LAFKA_REFRESH_MIN=9", "-s", "LAFKA_REFRESH_MAX=8"), "LAFKA_REFRESH_MIN=9.0 is"),
    ):
        assert sentence in crawl(home, *arguments, expected=2).run.log
    looked = crawl(home, "-a", "check=1")
    assert looked.run.out == "0 fobis to be asked for\n"
    assert fobi_lines(home) == []


def test_recover_takes_up_what_a_killed_crawl_left(home):
    with Server((HOST,)) as site:
        at = site.at(HOST)
        site.routes |= {f"/{n}.pdf": as_pdf(pdf(str(n))) for n in range(6)}
        put(home, *(f"{at}/{n}.pdf" for n in range(6)))
        site.pause_after(5)
        with starts.Popen(command(home), cwd=ROOT, stderr=subprocess.DEVNULL) as process:
            assert site.paused.wait(LIMIT)
            process.kill()
        site.resume()
        done = starts.verb("lafka", "archec", "recover", "-s", f"LAFKA_OBJECT_STORE={home.archive}")
    assert done.returncode == 0, done.stderr
    assert "gatherings ended" in done.stdout
    assert len(told(fobi_lines(home))) >= 3
    assert {line["e"] for line in fobi_lines(home)} == {"appearance"}
    sound(home)


def test_the_settings_of_every_run_are_what_they_say(home):
    """With the bounds that operators have, what was got is not asked for again the next day."""
    with Server((HOST,)) as site:
        at = site.at(HOST)
        site.routes |= {"/a.pdf": as_pdf(pdf("a"))}
        put(home, f"{at}/a.pdf")
        bounds = dict.fromkeys(EVERY_RUN, 1)
        assert crawl(home, **bounds).outcomes() == {f"{at}/a.pdf": "appearance"}
        again = crawl(home, "-a", "archive=abc", **bounds)
        assert (again.lines, again.report["done"]) == ({}, True)
        [obi] = [one for one in home.walk() if one["id"] == f"{at}/a.pdf"]
        assert obi["due"] == obi["noted"] + 86_400


def test_a_damaged_journal_is_told_as_that_and_nothing_is_asked_for(home):
    with Server((HOST,)) as site:
        at = site.at(HOST)
        site.routes |= {"/a.pdf": as_pdf(pdf("a"))}
        put(home, f"{at}/a.pdf")
        crawl(home)
        [journal] = [p for t, lines in home.journals().items() if lines[0]["kind"] == "fobi"
                     for p in [ObiStore(home.archive).journal(t)]]  # fmt: skip
        data = journal.read_bytes()
        end = data[:-1].rindex(b"\n") + 1
        journal.write_bytes(data[:end] + b"?" * (len(data) - end - 1) + b"\n")
        done = crawl(home, expected=1)
    assert (done.lines, done.report["reason"], done.report["done"]) == (
        {}, "store-damaged", False,
    )  # fmt: skip
    assert done.run.log.count(f"The crawl stops: {journal}") == 1
    fault = f"byte {end}: line 3: a line that is not JSON; put this journal back from a copy, or:"
    fault += " lafka archec mend"
    assert f"{fault}. No crawl does until it is mended;" in done.run.log
    assert "Traceback" not in done.run.log
