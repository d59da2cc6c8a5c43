"""The bytes of others: exactly what the archive holds, by Range, and nothing else."""

from __future__ import annotations

import hashlib
import io
import socket
import zipfile
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stores import Store, cuts, pdf
from tests.web.inside import BYTES, ask, inside
from tests.web.served import AT, BIG, FUTLI, HOSTILE, PID, UGLY, WITHHELD, Served, serving

OURS = "http://127.0.0.1"


def at(pid: str) -> str:
    return f"/futs/{quote(pid, safe='')}"


def test_the_newest_fut_is_what_the_suwaf_cuts_out(others: httpx.Client, served: Served) -> None:
    answer = others.get(at(PID))
    assert answer.content == pdf("second")
    assert answer.content in cuts(served.store.archive, PID).values()
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.headers["etag"] == f'"sha256:{hashlib.sha256(answer.content).hexdigest()}"'
    assert answer.headers["content-disposition"].startswith("inline")
    assert answer.headers["cache-control"] == "no-cache"


def test_an_earlier_version_is_had_by_its_time(others: httpx.Client, served: Served) -> None:
    time = min(time for _, time in cuts(served.store.archive, PID))
    answer = others.get(at(PID), params={"futli": FUTLI, "time": time})
    assert answer.content == pdf("first")
    assert "immutable" in answer.headers["cache-control"]


@pytest.mark.parametrize("query", ["futi=x", "time=2026&time=2027", "Verify=1"])
def test_a_parameter_that_no_fut_is_chosen_by_is_refused(others: httpx.Client, query: str) -> None:
    assert others.get(f"{at(PID)}?{query}").status_code == 400


RANGES = {
    "bytes=0-9": (206, 0, 10),
    "bytes=10-": (206, 10, None),
    "bytes=-5": (206, -5, None),
    "bytes=0-0": (206, 0, 1),
    "bytes=5-999999999": (206, 5, None),
    "bytes=999999999-": (416, 0, 0),
    "bytes=9-5": (200, 0, None),
    "bytes=0-1,3-4": (200, 0, None),
    "lines=0-1": (200, 0, None),
    "bytes=a-b": (200, 0, None),
}


@pytest.mark.parametrize("asked", RANGES)
@pytest.mark.parametrize("pid", [PID, BIG])
def test_a_range_is_the_bytes_that_it_names(others: httpx.Client, pid: str, asked: str) -> None:
    whole = others.get(at(pid)).content
    status, start, end = RANGES[asked]
    answer = others.get(at(pid), headers={"Range": asked})
    assert answer.status_code == status
    if status == 416:
        assert answer.headers["content-range"] == f"bytes */{len(whole)}"
    else:
        assert answer.content == whole[start:end]


def test_head_tells_what_get_would_send(others: httpx.Client) -> None:
    for path in (at(PID), at(BIG), "/warc/RePEc/abc/wpaper/1.warc"):
        head, get = others.head(path), others.get(path)
        assert head.content == b""
        for name in ("content-length", "etag", "content-type", "accept-ranges"):
            assert head.headers[name] == get.headers[name]
        assert others.head(path, headers={"Range": "bytes=0-3"}).status_code == 200
    wacz = others.head(f"/wacz/{quote(PID, safe='')}.wacz")
    assert wacz.headers.get("content-length") is None
    assert wacz.headers["content-type"] == "application/wacz"


def test_what_a_client_has_is_not_sent_again(others: httpx.Client) -> None:
    tag = others.get(at(PID)).headers["etag"]
    assert others.get(at(PID), headers={"If-None-Match": tag}).status_code == 304
    part = {"Range": "bytes=0-3"}
    assert others.get(at(PID), headers={**part, "If-Range": tag}).status_code == 206
    assert others.get(at(PID), headers={**part, "If-Range": '"x"'}).status_code == 200


EARLY, LATE = "Fri, 20 Nov 2020 10:00:00 GMT", "Fri, 20 Nov 2027 10:00:00 GMT"


@pytest.mark.parametrize("path", [at(PID), f"/web/20261121101113id_/{AT}"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [({"If-Modified-Since": LATE}, 304), ({"If-Modified-Since": EARLY}, 200),
     ({"If-Modified-Since": "soon"}, 200), ({"If-Unmodified-Since": EARLY}, 412),
     ({"If-Unmodified-Since": LATE}, 200), ({"If-Match": '"x"'}, 412), ({"If-Match": "*"}, 200),
     ({"If-Match": 'W/"x"', "If-None-Match": "*"}, 412), ({"If-None-Match": "*"}, 304),
     ({"If-None-Match": '"x"', "If-Modified-Since": LATE}, 200),
     ({"Range": "bytes=1-4"}, 206), ({"Range": "bytes=999999-"}, 416)],
)  # fmt: skip
def test_preconditions_are_those_of_rfc_9110(
    others: httpx.Client, path: str, headers: dict[str, str], status: int
) -> None:
    answer = others.get(path, headers=headers)
    assert answer.status_code == status
    if status in (200, 206):
        assert pdf("second").find(answer.content) in (0, 1)
        tag = answer.headers["etag"]
        assert others.get(path, headers={"If-Match": tag}).status_code == 200


@pytest.mark.parametrize("kind", ["chunked", "gzip", "gzip chunked"])
def test_a_coded_memento_is_had_decoded_and_by_range(tmp_path: Path, kind: str) -> None:
    store = Store(tmp_path / "archive")
    store.put(store.fut(pdf("coded", 3_000_000), kind, futli=AT))
    with inside(store, tmp_path) as web:
        path = f"/web/20261120101112id_/{AT}".encode()
        status, body = ask(web, BYTES, path)
        assert (status, body) == (200, pdf("coded", 3_000_000))
        assert ask(web, BYTES, path, headers=((b"range", b"bytes=5-9"),)) == (206, body[5:10])


def test_pages_are_compressed_and_bytes_are_not(others: httpx.Client, pages: httpx.Client) -> None:
    plain = pages.get("/", headers={"Accept-Encoding": "identity"})
    packed = pages.get("/", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.text == plain.text
    assert "Accept-Encoding" in plain.headers["vary"]
    assert "content-encoding" not in others.get(at(BIG)).headers


def test_an_absolute_target_is_its_path(served: Served) -> None:
    host, port = served.pages.removeprefix("http://").split(":")
    request = f"GET {served.pages}/robots.txt HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n"
    with socket.create_connection((host, int(port))) as client:
        client.sendall(request.encode())
        assert client.recv(1000).startswith(b"HTTP/1.1 200 ")


def test_the_digest_is_compared_on_request(served: Served, tmp_path_factory: object) -> None:
    store = served.store
    pid = "RePEc:abc:wpaper:wrong"
    store.put(store.fut(pdf("wrong"), pid=pid, futli="http://x.example/wrong.pdf"))
    with httpx.Client(base_url=served.bytes) as others:
        assert others.get(at(pid), params={"verify": "1"}).status_code == 200
        fut = store.archive.fut(pid)
        with fut.warc.open("r+b") as file:
            file.seek(fut.start + 20)
            file.write(b"XX")
        assert others.get(at(pid), params={"verify": "1"}).status_code == 409
        assert others.get(at(pid)).status_code == 200


def test_a_paper_warc_ends_where_its_suwaf_knows_it_good(served: Served) -> None:
    store, pid = served.store, "RePEc:abc:wpaper:tail"
    store.put(store.fut(pdf("tail"), pid=pid, futli="http://x.example/tail.pdf"))
    whole = store.warc(pid).read_bytes()
    with store.warc(pid).open("ab") as file:
        file.write(b"WARC/1.1 what a killed writer left")
    with httpx.Client(base_url=served.bytes) as others:
        assert others.get("/warc/RePEc/abc/wpaper/tail.warc").content == whole
        with store.warc(pid).open("r+b") as file:
            file.truncate(len(whole) - 1)
        answer = others.get("/warc/RePEc/abc/wpaper/tail.warc")
        assert answer.status_code == 503
        assert "shorter than its suwaf says" in answer.text
        assert others.get(at(pid)).status_code in (200, 503)


def test_a_wacz_is_made_as_it_is_sent(others: httpx.Client, served: Served) -> None:
    answer = others.get(f"/wacz/{quote(PID, safe='')}.wacz")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as file:
        assert file.testzip() is None
        name = next(name for name in file.namelist() if name.startswith("archive/"))
        assert file.read(name) == served.store.warc(PID).read_bytes()


def test_an_ugly_pid_has_an_address_of_its_own(others: httpx.Client, pages: httpx.Client) -> None:
    assert others.get(at(UGLY)).content == pdf("ugly")
    assert pages.get(f"/papers/{quote(UGLY, safe='')}").status_code == 200


def test_what_is_withheld_is_not_given_out(others: httpx.Client, pages: httpx.Client) -> None:
    named = quote(WITHHELD, safe="")
    for path in (at(WITHHELD), "/warc/RePEc/wit/wpaper/1.warc", f"/wacz/{named}.wacz",
                 f"/splaps/{named}/urn:uuid:00000000-0000-0000-0000-000000000000"):  # fmt: skip
        answer = others.get(path)
        assert answer.status_code == 451, path
        assert b"%PDF" not in answer.content
    page = pages.get(f"/papers/{named}")
    assert page.status_code == 200
    assert "withheld" in page.text
    assert pages.get(f"/api/v1/papers/{named}/suwaf").status_code == 451
    assert pages.get(f"/api/v1/papers/{named}").json()["captures"] == []
    url = "http://x.example/secret.pdf"
    assert others.get(f"/web/cdx?url={url}").text == ""
    for path in (f"/web/{url}", f"/web/2026id_/{url}", f"/web/timemap/link/{url}"):
        assert others.get(path).status_code == 451
    assert others.get(f"/web/{url}x").status_code == 404


def test_what_is_withheld_comes_by_no_other_paper(tmp_path: Path) -> None:
    store = Store(tmp_path / "archive")
    link = "http://x.example/secret.pdf"
    store.put(store.fut(pdf("secret"), pid=WITHHELD, futli=link))
    by_link, by_bytes, neither = (f"RePEc:abc:wpaper:{name}" for name in ("link", "bytes", "own"))
    store.put(store.fut(pdf("later"), pid=by_link, futli=link))
    store.put(store.fut(pdf("secret"), pid=by_bytes, futli="http://y.example/copy.pdf"))
    store.put(store.fut(pdf("own"), pid=neither, futli="http://y.example/own.pdf"))
    with (
        serving(store, tmp_path / "withheld") as served,
        httpx.Client(base_url=served.bytes) as others,
    ):
        found = {pid: others.get(at(pid)).status_code for pid in (by_link, by_bytes, neither)}
        assert found == {by_link: 451, by_bytes: 451, neither: 200}
        for path in (f"/warc/{store.archive.pid(by_bytes).path}.warc", f"/web/{link}",
                     "/web/http://y.example/copy.pdf"):  # fmt: skip
            assert others.get(path).status_code == 451


def test_the_file_of_those_withheld_is_read_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    from tests.web.served import filled, serving

    folder = tmp_path_factory.mktemp("withheld")
    with (
        serving(filled(folder / "archive"), folder / "withheld") as served,
        httpx.Client(base_url=served.bytes) as others,
    ):
        assert others.get(at(PID)).status_code == 200
        served.withheld.write_text("RePEc:abc:wpaper:1\n", "utf-8")
        assert others.get(at(PID)).status_code == 451
        assert others.get(at(WITHHELD)).status_code == 200


def test_each_answer_is_guarded(others: httpx.Client, pages: httpx.Client, served: Served) -> None:
    for path in (at(PID), "/warc/RePEc/abc/wpaper/1.warc", "/nothing", f"/web/{AT}"):
        headers = others.get(path).headers
        assert headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        assert f"frame-ancestors {served.pages}" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    for path in ("/", "/search", "/papers/x", f"/papers/{PID}", "/api/v1/summary", "/style.css"):
        headers = pages.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in headers


def test_our_pages_never_carry_the_bytes_of_others(pages: httpx.Client, served: Served) -> None:
    for path in (at(PID), "/warc/RePEc/abc/wpaper/1.warc", f"/web/{AT}", f"/wacz/{PID}.wacz"):
        assert pages.get(path).status_code == 404
    assert served.pages != served.bytes


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"])
def test_nothing_can_be_changed(pages: httpx.Client, others: httpx.Client, method: str) -> None:
    for client, path in ((pages, "/"), (others, at(PID)), (others, "/web/cdx")):
        answer = client.request(method, path)
        assert answer.status_code == 405
        assert answer.headers["allow"] == "GET, HEAD"


def test_another_host_is_refused(pages: httpx.Client, others: httpx.Client) -> None:
    for client in (pages, others):
        assert client.get("/", headers={"Host": "evil.example"}).status_code == 421


def test_what_is_too_much_is_refused(pages: httpx.Client) -> None:
    assert pages.get("/search", params={"q": "x" * 17_000}).status_code == 414
    many = {f"X-{n}": "y" for n in range(120)}
    assert pages.get("/", headers=many).status_code == 431


@given(st.text(st.sampled_from("/.%2eEfF\\0:~ab" + "\u00e9"), max_size=60))
def test_no_path_leads_out_of_the_archive(served: Served, text: str) -> None:
    """Raw paths, as no client would send them: an answer of the closed set, and no foreign byte."""
    place = urlsplit(served.bytes)
    for prefix in ("/warc/", "/futs/", "/splaps/", "/wacz/", "/"):
        line = f"GET {prefix}{text} HTTP/1.1".encode().replace(b" \\", b"\\")
        request = line + b"\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        with socket.create_connection((place.hostname or "", place.port or 0)) as connection:
            connection.sendall(request)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        status = answer.split(b" ", 2)[1]
        assert status in (b"200", b"400", b"404", b"451"), answer[:200]
        if status == b"200":
            assert text == "robots.txt"


def test_a_page_is_shown_as_a_neutral_copy(others: httpx.Client, pages: httpx.Client) -> None:
    captures = pages.get(f"/api/v1/papers/{quote(HOSTILE, safe='')}").json()["captures"]
    answer = others.get(urlsplit(captures[0]["at"]).path)
    assert answer.headers["content-type"].startswith("text/html")
    assert "<script" not in answer.text
