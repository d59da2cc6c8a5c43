"""The configuration of the raw log: Lafka's settings, and scrapy-warcio's settings file."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lafka.capture.rawfiles import load_settings

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def warc_settings(settings: BaseSettings) -> dict[str, Any]:
    """The values of a scrapy-warcio settings file, none where no setting names one."""
    path = settings.get("LAFKA_WARC_SETTINGS") or os.environ.get("SCRAPY_WARCIO_SETTINGS")
    return load_settings(path) if path else {}


def raw_config(settings: BaseSettings) -> dict[str, Any]:
    """Return what goes into the raw WARCs' warcinfo: a scrapy-warcio settings file over our
    defaults.
    """
    defaults = {
        "operator": settings.get("LAFKA_CONTACT") or "",
        "collection": settings.get("LAFKA_COLLECTION") or "",
        "robots": "obey" if settings.getbool("ROBOTSTXT_OBEY") else "ignore",
        "max_warc_size": settings.getint("LAFKA_RAW_SIZE"),
    }
    # The user agent is what is sent, whatever the file says.
    return {**defaults, **warc_settings(settings), "user_agent": settings.get("USER_AGENT")}


def run_name() -> str:
    """A name for this run that no other has: UTC time, host, process."""
    host = "".join(c for c in socket.gethostname().partition(".")[0] if c.isalnum() or c == "-")
    time = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    return f"{time}-{host or 'host'}-{os.getpid()}"
