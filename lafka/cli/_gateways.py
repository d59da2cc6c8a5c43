"""The server that ``lafka archec serve`` and ``lafka gateway`` share."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from lafka.errors import BadArgument
from lafka.runs.terminals import program

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from lafka.memento.holdings import Holdings

PORT = "8732"
_NAME = re.compile(r"[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]+\]")


def serve(verb: str, opts: Namespace, holdings: Callable[[], Holdings]) -> None:
    """Serve what *holdings* makes, until a signal comes; ``BadArgument``."""
    try:
        from lafka.web import gateway_server as serving  # noqa: PLC0415
    except ImportError as error:
        raise BadArgument(f"needs the package {error.name}: pip install lafka[web]") from None
    if not (opts.port.isascii() and opts.port.isdigit() and int(opts.port[:6]) < 1 << 16):
        raise BadArgument(f"--port {opts.port!r} is no number from 0 to 65535")
    for name in opts.name:
        if not _NAME.fullmatch(name):
            raise BadArgument(f"--name {name!r} is no name of a host, without a port")
    if not serving.is_loopback(opts.bind):
        print(
            f"{program()} {verb}: warning: {opts.bind} can be reached from elsewhere,"
            " and nobody is asked who he is",
            file=sys.stderr,
        )
    serving.serve(
        holdings(), bind=opts.bind, port=int(opts.port), names=tuple(opts.name), begun=_tell
    )


def _tell(address: str) -> None:
    print(address, flush=True)
