"""Clients of web archives that are not ours, asking one address on loopback and nothing else.

Run in the environment of ``tests.services.apart`` that has them: ``foreign_clients.py CLIENT
ADDRESS URL``; prints what the client understood, as JSON. Knows nothing of this project.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from datetime import datetime
from typing import Any

_NAMES = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")


def guard(event: str, args: tuple[Any, ...]) -> None:
    """Refuse every address but those of loopback, before anything is sent."""
    if event not in _NAMES:
        return
    place = args[0] if event.startswith("socket.get") else args[1]
    host = place[0] if isinstance(place, tuple) else place
    if not str(host).startswith("127."):
        raise PermissionError(f"{event} of {host}: loopback alone")


def cdx_toolkit(address: str, url: str) -> Any:
    os.environ |= {"CDXT_DEFAULT_MIN_RETRY_INTERVAL": "0", "CDXT_MAX_ERRORS": "0"}
    import cdx_toolkit as client

    by_mementos = client.CDXFetcher(source=f"{address}/web/cdx", wb=f"{address}/web")
    by_warcs = client.CDXFetcher(
        source=f"{address}/web/cdx", warc_download_prefix=f"{address}/warc"
    )
    found = by_mementos.get(url, limit=10)
    return {
        "times": [one["timestamp"] for one in found],
        "bodies": [one.content.decode("latin-1") for one in found],
        "records": [one.content.decode("latin-1") for one in by_warcs.get(url, limit=10)],
        "since": [one["timestamp"] for one in by_mementos.iter(url, from_ts="20261121")],
        "matching": len(by_mementos.get(url, filter=["=status:200", "!mime:text/html"])),
        "page by page": [one["timestamp"] for one in by_mementos.iter(url)],
        "none": list(by_mementos.iter(f"{url}x")),
        "size": by_mementos.get_size_estimate(url, as_pages=True),
    }


def wayback(address: str, url: str) -> Any:
    """The client knows one archive alone: its three constants are those of *address* here."""
    import wayback as client
    from wayback import _client, _utils

    _client.CDX_SEARCH_URL = f"{address}/web/cdx"
    _utils.MEMENTO_URL_TEMPLATE = address + "/web/{timestamp}{mode}/{url}"
    _utils.MEMENTO_URL_PATTERN = re.compile(rf"^{re.escape(address)}/web/(\d+)(\w\w_)?/(.+)$")
    session = client.WaybackSession(search_calls_per_second=0, memento_calls_per_second=0)
    with client.WaybackClient(session) as asking:
        found = list(asking.search(url, limit=1))  # the rest by resume keys
        mementos = [asking.get_memento(one) for one in found]
        near = asking.get_memento(url, timestamp="20261121000000", exact=False)
        try:
            asking.get_memento(f"{url}x", timestamp="20261121000000")
        except client.exceptions.NoMementoError as error:
            none = str(error)
    return {
        "times": [f"{one.timestamp:%Y%m%d%H%M%S}" for one in found],
        "statuses": [one.status_code for one in found],
        "bodies": [one.content.decode("latin-1") for one in mementos],
        "urls": [one.url for one in mementos],
        "near": near.content.decode("latin-1"),
        "links": sorted(near.links),
        "none": none,
    }


def memento_client(address: str, url: str) -> Any:
    from memento_client import MementoClient

    client = MementoClient(timegate_uri=f"{address}/web/", check_native_timegate=False)
    # By the address of a memento: by that of the original it would ask the original's host first.
    memento = f"{address}/web/20261121101112id_/{url}"
    found = client.get_memento_info(memento, datetime(2026, 11, 20, 12))
    return {
        "original": found["original_uri"],
        "timegate": found["timegate_uri"],
        "mementos": {
            name: [one["uri"][0], f"{one['datetime']:%Y%m%d%H%M%S}"]
            for name, one in found["mementos"].items()
        },
        "status": found["mementos"]["closest"]["http_status_code"],
    }


def outside(*_: str) -> Any:
    """The guard itself: an address of documentation (RFC 5737) is refused before it is asked."""
    try:
        socket.create_connection(("192.0.2.1", 80), timeout=5)
    except PermissionError as error:
        return str(error)


if __name__ == "__main__":
    sys.addaudithook(guard)
    clients = {one.__name__: one for one in (cdx_toolkit, wayback, memento_client, outside)}
    print(json.dumps(clients[sys.argv[1]](*sys.argv[2:])))
