"""Small ARC files for tests."""

from __future__ import annotations

FILEDESC_BODY = b"1 0 Test\nURL IP-address Archive-date Content-type Archive-length\n"
HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello"


def entry(line: str, block: bytes) -> bytes:
    """A record: *line* and the length of *block*, which follows, and a line end."""
    return f"{line} {len(block)}\n".encode() + block + b"\n"


FILEDESC = entry("filedesc://a.arc 0.0.0.0 20140216050221 text/plain", FILEDESC_BODY)
PAGE = entry("http://a.example/x 93.184.216.119 20140216050222 text/html", HTTP)
DNS_BODY = b"20140216050223\na 1 IN A 1.2.3.4\n"
DNS = entry("dns:a.example 8.8.8.8 20140216050223 text/dns", DNS_BODY)
FTP = entry("ftp://a.example/f 1.2.3.4 20140216050224 no-type", b"bytes")
