"""The store by example, of the design's section 2.6: every path, byte and MD5."""

from __future__ import annotations

import hashlib

from lafka.archec.records import Kind
from lafka.archec.records.opening import catch_up
from lafka.archec.store.folders import ObiStore
from lafka.archec.store.journals import Journal
from tests.archec.stores import Home

DATA = (
    "Template-Type: ReDIF-Paper 1.0\r\nTitle: Coûts\r\nAuthor-Name: Ana Lima\r\n"
    "File-URL: http://x.example/p/1\r\nFile-Format: application/pdf\r\n"
    "Handle: RePEc:ABC:wpaper:1\r\n\r\n"
)
NAME = "RePEc%3Aabc%3Awpaper%3A1"
FIRST, SECOND = "d699a88a9b6eaead08ca956f149d066b", "c4221240bdd7a987352594ba9ce0c4c0"
FILE = "abc/wpaper/2012.rdf"


def test_a_store_by_example(tmp_path):
    home = Home(tmp_path / "archec")
    stored = DATA.encode("cp1252")
    home.put({FILE: stored}, mtime=1352419200)

    home.now = 1352481230
    home.tobi()
    place = home.archive / "032/184/2531" / NAME
    assert home.objects() == {f"032/184/2531/{NAME}": stored}
    assert (len(stored), place.stat().st_mtime, place.stat().st_mode & 0o777) == (
        161, 1352419200, 0o444,
    )  # fmt: skip
    head, line, end = home.journal(1352481230)
    assert list(head) == ["format", "gathering", "kind", "source", "at", "run", "software"]
    assert (head["format"], head["gathering"], head["kind"]) == (1, 1352481230, "tobi")
    assert (head["source"], head["at"]) == ("data/current", False)
    sha256 = hashlib.sha256(stored).hexdigest()
    assert sha256.startswith("81b474e9")
    text = line.pop("text_sha256")
    assert text == hashlib.sha256(DATA.strip().replace("\r", "").encode() + b"\n").hexdigest()
    assert line == {
        "e": "appearance", "id": "RePEc:abc:wpaper:1", "md5": FIRST, "sha256": sha256,
        "length": 161, "found": 1352419200, "type": "paper", "file": "RePEc/abc/wpaper/2012.rdf",
        "offset": 0, "encoding": "windows-1252",
        "refipos": [{"n": 1, "uri": "http://x.example/p/1", "raw": "http://x.example/p/1",
                     "format": "application/pdf"}],
    }  # fmt: skip
    assert (end["e"], end["counts"]) == ("end", {"appearance": 1})

    home.put({FILE: DATA.replace("\r", "").encode()}, mtime=1355000000)
    home.now = 1355073230
    home.tobi()
    assert len(home.journal(1355073230)) == 2
    assert list(home.objects()) == [f"032/184/2531/{NAME}"]

    home.put({FILE: DATA.replace("Coûts", "Coûts fixes").encode()}, mtime=1357700000)
    home.now = 1357751630
    home.tobi()
    assert list(home.objects()) == [f"032/184/2531/{NAME}", f"036/157/7531/{NAME}"]
    assert [(one["e"], one["md5"]) for one in home.journal(1357751630)[1:-1]] == [
        ("change", SECOND)
    ]
    (obi, fobi) = home.walk()
    assert obi["versions"] == [[1352481230, FIRST], [1357751630, SECOND]]
    assert (obi["found"], obi["noted"], obi["lost"]) == (1352419200, 1357751630, None)
    assert (fobi["id"], fobi["state"], fobi["due"]) == ("http://x.example/p/1", "new", 1352481230)

    before = home.objects()
    (home.data / FILE).unlink()
    home.now = 1360000000
    home.tobi()
    assert home.journal(1360000000)[1:-1] == [
        {"e": "deletion", "id": "RePEc:abc:wpaper:1", "why": "gone from the data"}
    ]
    assert home.objects() == before
    assert (home.walk()[0]["lost"], home.walk()[0]["past"]) == (1360000000, [1360000000])

    home.put({FILE: DATA.replace("Coûts", "Coûts fixes").encode()}, mtime=1360000001)
    home.now = 1362000000
    home.tobi()
    again = home.journal(1362000000)[1]
    assert (again["e"], again["held"], again["md5"]) == (
        "appearance", [1357751630, "RePEc:abc:wpaper:1"], SECOND,
    )  # fmt: skip
    link = home.archive / "000/000/2631" / NAME
    assert str(link.readlink()) == f"../../../036/157/7531/{NAME}"
    assert ObiStore(home.archive).read(1362000000, "RePEc:abc:wpaper:1") == link.read_bytes()
    found = home.walk()[0]
    assert (found["lost"], found["past"], found["found"]) == (None, [1360000000], 1352419200)


def test_the_way_of_a_fobi_by_example(tmp_path):
    """Step 2: a redirect that differs by a slash alone has no link, and is found all the same."""
    home = Home(tmp_path)
    store = ObiStore.create(home.archive)
    folder = store.folder(1352481300)
    folder.mkdir(parents=True)
    body = b"%PDF-1.4\n%%EOF\n"
    pdf, page = "http%3A%2F%2Fx.example%2Ffiles%2F1.pdf", "http%3A%2F%2Fx.example%2Fp%2F1%2F"
    (folder / pdf).write_bytes(body)
    (folder / page).symlink_to(pdf)
    md5 = hashlib.md5(body).hexdigest()
    assert (len(body), md5) == (15, "f62b27e45a1dfb140c91a291ab586d3e")
    way = ["http://x.example/p/1", "http://x.example/p/1/", "http://x.example/files/1.pdf"]
    line = {"md5": md5, "sha256": hashlib.sha256(body).hexdigest(), "length": 15,
            "found": 1352481300, "kind": "pdf", "way": way}  # fmt: skip
    head = {"format": 1, "gathering": 1352481300, "kind": "fobi", "run": "r", "source": None}
    held = {"held": [1352481300, way[2]]}
    Journal.begin(store.journal(1352481300), head, [
        {"e": "appearance", "id": way[2], **line},
        *({"e": "appearance", "id": url, **line, **held} for url in way[:2]),
        {"e": "end", "counts": {"appearance": 3}, "seconds": 0.1},
    ]).close()  # fmt: skip
    place = store.path(1352481300, way[2]).relative_to(home.archive).as_posix()
    assert place == f"003/184/2531/{pdf}"
    for url in way:
        assert store.read(1352481300, url) == body
    with home.records(store) as records:
        catch_up(store, records)
        assert {obi["id"]: obi["versions"] for obi in home.walk()} == {
            url: [[1352481300, md5]] for url in way
        }
        (content,) = records.held(Kind.FOBI, md5)
        assert (content.tist, content.id) == (1352481300, way[2])
