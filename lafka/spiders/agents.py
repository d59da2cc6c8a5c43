"""The user agent of spiders."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import lafka
from lafka.capture.config import warc_settings
from lafka.errors import BadArgument, printable

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def user_agent(settings: BaseSettings) -> str:
    """Return what a scrapy-warcio settings file says, else Lafka and whom to turn to."""
    own = None
    with suppress(BadArgument):  # told by check
        own = warc_settings(settings).get("user_agent")
    contact = settings.get("LAFKA_CONTACT")
    about = f" (+{contact})" if contact else ""
    return printable(own or f"Lafka/{lafka.__version__}{about}")
