"""Lafka's settings, and Scrapy's that a crawl relies on, checked before a crawl begins."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from scrapy.settings import BaseSettings, default_settings

from lafka.capture.addresses import networks
from lafka.capture.rawfiles import load_settings
from lafka.capture.replay import MISSES
from lafka.errors import BadArgument
from lafka.runs.sources import KNOWN, PREFIX, PRIORITIES, here, meant
from lafka.warc.errors import BadValue
from lafka.warc.format.dates import WarcDate


def check(settings: BaseSettings) -> None:
    """Raise ``BadArgument``, one sentence, for a setting that is unknown or has a bad value.

    A misspelt LAFKA_ARCHIVE would else fill another folder, without a word.
    """
    here()  # a scrapy.cfg that cannot be read has said nothing yet
    names = sorted(name for name in settings if str(name).startswith(PREFIX))
    unknown = [name for name in names if name not in KNOWN]
    if unknown:
        raise BadArgument(
            f"unknown setting {unknown[0]!r}{meant(unknown[0], KNOWN)};"
            " lafka docs reference has all of Lafka's"
        )
    for name, checked in _CHECKS.items():
        checked(settings, name)
    check_scrapys(settings)


def check_scrapys(settings: BaseSettings) -> None:
    """Raise ``BadArgument`` for a setting of Scrapy whose value is not of its kind.

    The kind is that of Scrapy's default: true or false, a whole number, a number.
    """
    for name in dir(default_settings):
        default = getattr(default_settings, name)
        if not isinstance(default, int | float) or settings.get(name) in (default, None):
            continue
        if isinstance(default, bool) or name.endswith("_ENABLED"):
            _truth(settings, name)
        elif name in _SECONDS or isinstance(default, float):
            _number(settings, name, "a number")
        elif isinstance(default, int) and name not in _SIGNED:
            _whole_number(settings, name, int(name.startswith("CONCURRENT_REQUESTS")))
    _log_level(settings)
    _statuses(settings, "RETRY_HTTP_CODES")


def misspelt(settings: BaseSettings) -> Iterator[str]:
    """Yield a sentence for each name said by ``-s`` that is nearly one of Scrapy's settings."""
    known = [name for name in dir(default_settings) if name.isupper()]
    for name in settings:
        if settings.getpriority(name) == PRIORITIES["cmdline"] and name not in known:
            for near in get_close_matches(str(name), known, 1, 0.85):
                yield f"-s {name} is no setting; {near} meant?"


_SECONDS = frozenset(("CLOSESPIDER_TIMEOUT", "DNS_TIMEOUT", "DOWNLOAD_DELAY", "DOWNLOAD_TIMEOUT"))
"""Settings whose default is a whole number, and which Scrapy reads as any number."""
_SIGNED = frozenset(("DEPTH_PRIORITY", "REDIRECT_PRIORITY_ADJUST", "RETRY_PRIORITY_ADJUST"))
"""Settings that may be less than nothing."""


def _log_level(settings: BaseSettings) -> None:
    value = str(settings.get("LOG_LEVEL"))
    levels = logging.getLevelNamesMapping()
    if value not in levels and not value.isdigit():
        known = ", ".join(name for name in levels if name not in ("NOTSET", "WARN", "FATAL"))
        raise BadArgument(f"LOG_LEVEL={value!r} is none of {known}{meant(value, levels)}")


def _whole_number(settings: BaseSettings, name: str, least: int) -> int:
    value = settings.get(name)
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = least - 1
    if number < least:
        raise BadArgument(f"{name}={value!r} has to be a whole number from {least}")
    return number


positive = partial(_whole_number, least=1)
"""The setting of a name as a whole number from 1; ``BadArgument``."""
_natural = partial(_whole_number, least=0)


def _number(settings: BaseSettings, name: str, what: str) -> float:
    value = settings.get(name)
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise BadArgument(f"{name}={value!r} has to be {what} from 0")
    return number


seconds = partial(_number, what="a number of seconds")
"""The setting of a name as seconds; ``BadArgument``."""
_rate = partial(_number, what="a number of bytes a second")
_share = partial(_number, what="a share")
_days = partial(_number, what="a number of days")


def _truth(settings: BaseSettings, name: str) -> None:
    try:
        settings.getbool(name)
    except ValueError:
        raise BadArgument(f"{name}={settings.get(name)!r} is neither true nor false") from None


def _statuses(settings: BaseSettings, name: str) -> None:
    for code in settings.getlist(name):
        if not re.fullmatch(r"[1-5]\d\d", str(code).strip()):
            raise BadArgument(f"{name}: {code!r} is no status of HTTP")


_UNITS = {
    "": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
    "KI": 1 << 10, "MI": 1 << 20, "GI": 1 << 30, "TI": 1 << 40,
}  # fmt: skip
_SIZE = re.compile(r"\s*(\d{1,15})\s*([kmgt]i?)?b?\s*", re.IGNORECASE)


def size(settings: BaseSettings, name: str) -> int:
    """The setting *name* in bytes: a whole number, with K, M, G, T, Ki, Mi, ..; ``BadArgument``."""
    found = _SIZE.fullmatch(str(settings.get(name)))
    if found is None:
        raise BadArgument(f"{name}={settings.get(name)!r} has to be a size such as 64Gi")
    return int(found[1]) * _UNITS[(found[2] or "").upper()]


def _one_of(*words: str) -> Check:
    def check(settings: BaseSettings, name: str) -> None:
        if (value := settings.get(name)) not in words:
            guess = meant(str(value), words)
            raise BadArgument(f"{name}={value!r} is none of {', '.join(words)}{guess}")

    return check


def _paths(settings: BaseSettings, name: str) -> None:
    for path in settings.getlist(name):
        if not Path(path).exists():
            raise BadArgument(f"{name}: {path} is not there")


def _date(settings: BaseSettings, name: str) -> None:
    try:
        if settings.get(name):
            WarcDate.parse(str(settings[name]))
    except BadValue:
        text = settings[name]
        raise BadArgument(f"{name}={text!r} is no date as 2026-11-20T10:11:12Z") from None


def metrics_address(settings: BaseSettings, name: str = "LAFKA_METRICS") -> tuple[str, int]:
    """Return address and port of the setting *name*; ``BadArgument`` where it is set to neither."""
    text = str(settings.get(name) or "")
    host, _, port = text.rpartition(":")
    try:
        address, number = str(ip_address(host.strip("[]"))), int(port)
        if re.fullmatch(r"\d{1,5}", port) and number < 65_536:
            return address, number
    except ValueError:
        pass
    raise BadArgument(f"{name}={text!r} is no address as 127.0.0.1:9410")


def _folder(settings: BaseSettings, name: str) -> None:
    if settings.get(name) and not Path(settings[name]).is_dir():
        raise BadArgument(f"{name}={settings[name]!r} is no folder")


Check = Callable[[BaseSettings, str], Any]


def _if_set(check: Check) -> Check:
    return lambda settings, name: settings.get(name) and check(settings, name)


_CHECKS: dict[str, Check] = {
    "LAFKA_LINKS_MAX": positive,
    "LAFKA_TRAILS_MAX": positive,
    "LAFKA_WRITERS": positive,
    "LAFKA_RAW_SIZE": positive,
    "LAFKA_MAX_PAYLOAD": _natural,
    "LAFKA_HOST_FAILURES_MAX": _natural,
    "LAFKA_MACHINE_FAILURES_MAX": _natural,
    "LAFKA_STALL_TIMEOUT": seconds,
    "LAFKA_MIN_RATE": _rate,
    "LAFKA_RETRY_AFTER_MAX": seconds,
    "LAFKA_CRAWL_DELAY_MAX": seconds,
    "LAFKA_GATE_PATIENCE": seconds,
    "LAFKA_PROGRESS_INTERVAL": seconds,
    "LAFKA_METRICS": _if_set(metrics_address),
    "LAFKA_SHUTDOWN_TIMEOUT": seconds,
    "LAFKA_LOSS_SHARE": _share,
    "LAFKA_LOSS_DAYS": _days,
    "LAFKA_REFRESH_MIN": _days,
    "LAFKA_REFRESH_MAX": _days,
    "LAFKA_KEEP_RAW": _truth,
    "LAFKA_LOOK_INSIDE": _truth,
    "LAFKA_TLS_STRICT": _truth,
    "LAFKA_ALLOWED_NETWORKS": lambda settings, name: networks(settings.getlist(name)),
    "LAFKA_WARC_SETTINGS": _if_set(lambda settings, name: load_settings(settings[name])),
    "LAFKA_SPOOL_DIR": _folder,
    "LAFKA_WAYBACK": _paths,
    "LAFKA_WAYBACK_TIME": _date,
    "LAFKA_WAYBACK_MISS": _one_of(*MISSES),
    "LAFKA_FILESET_MAX_TOTAL": size,
    "LAFKA_FILESET_MAX_FILES": positive,
    "LAFKA_FILESET_MAX_FILE": size,
    "LAFKA_FILESET_KEEP_FREE": size,
    "LAFKA_WEB_CONNECTIONS": positive,
    "LAFKA_WEB_REPLAYWEB": _folder,
    "LAFKA_WEB_MAX_FILE": size,
    "LAFKA_WEB_MAX_TOTAL": size,
    "LAFKA_WEB_MAX_FILES": positive,
    "LAFKA_LANDING_MAX": size,
    "LAFKA_FILESET_BUNDLE": _one_of("missing", "many", "never"),
    "LAFKA_FILESET_ROBOTS": _one_of("pages", "all"),
    "LAFKA_FILESET_TRIES": positive,
    "LAFKA_FILESETS_MAX": positive,
    "LAFKA_KAFKA_WINDOW": positive,
    "LAFKA_FLEET_PATIENCE": seconds,
    "LAFKA_FILESET_LATEST": _truth,
    "LAFKA_FILESET_PARTIAL": _truth,
    "LAFKA_FILESET_RESTRICTED": _truth,
    "LAFKA_FILESET_WEB": _truth,
}
