"""A gateway on a socket, by uvicorn."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import closing

import uvicorn
from starlette.types import ASGIApp

from lafka.errors import BadArgument
from lafka.urls.addresses import Holdings
from lafka.web.connections import PatientProtocol
from lafka.web.gateway import Gateway

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
CONNECTIONS_MAX = 200


def serve(
    holdings: Holdings,
    *,
    bind: str = "127.0.0.1",
    port: int = 0,
    names: tuple[str, ...] = (),
    begun: Callable[[str], None],
) -> None:
    """Serve *holdings* until a signal ends it; *begun* is told the address when it answers.

    *port* 0 is a free one. Asked by *names*, by *bind* and by what loopback is called.
    ``BadArgument`` where the address cannot be had.
    """
    with closing(listening_at(bind, port)) as listening:
        shown = f"[{bind}]" if ":" in bind else bind
        gateway = Gateway(holdings, (*LOOPBACK, shown, *names))
        server = uvicorn.Server(config(gateway))
        begun(f"http://{shown}:{listening.getsockname()[1]}")
        try:
            server.run(sockets=[listening])
        finally:
            gateway.close()


def listening_at(bind: str, port: int) -> socket.socket:
    """A socket at the address *bind*; ``BadArgument`` where it cannot be had."""
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    try:
        return socket.create_server((bind, port), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadArgument(f"{bind} port {port} cannot be had: {reason}") from None


def config(
    app: ASGIApp,
    protocol: type[PatientProtocol] = PatientProtocol,
    connections: int = CONNECTIONS_MAX,
) -> uvicorn.Config:
    """Return how uvicorn is to serve *app*; who asks where *connections* others are open
    gets 503.
    """
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        loop="asyncio",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        log_config=None,
        limit_concurrency=connections + 1,  # it counts the one that asks
        timeout_keep_alive=10,
        timeout_graceful_shutdown=5,
    )
