"""Targets: where items are kept, by ``LAFKA_ITEMS``, and the file of keys and tokens.

``item``   ``item.json``, names of files on a disk, what every target can do, parts of huge files
``folder`` items in a folder: parts on the disk, final names, what twice was another file
``s3``     items in a bucket: made on the disk, sent file by file, gone from the disk
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lafka.errors import BadArgument
from lafka.filesets.targets.folder import FolderTarget
from lafka.filesets.targets.item import Target
from lafka.filesets.targets.s3 import BucketPlace, Keys, S3Target

WORK = ".work"
"""Folder, below that of items, in which items of a bucket are made."""


def target_of(settings: Mapping[str, Any]) -> Target:
    """Return where items are kept; ``BadArgument`` where that cannot be."""
    named, folder = settings.get("LAFKA_ITEMS"), Path(settings["LAFKA_ARCHIVE"]) / "items"
    if not str(named or "").startswith("s3://"):
        return FolderTarget(Path(named) if named else folder)

    place = BucketPlace.parse(
        str(named), settings.get("AWS_ENDPOINT_URL"), settings.get("AWS_REGION_NAME")
    )
    if place.endpoint and not is_safe(place.endpoint):
        raise BadArgument(f"AWS_ENDPOINT_URL={place.endpoint}: keys go by https alone")
    keys = load_keys(settings.get("LAFKA_TOKENS")).get(place.host)
    if keys is None:
        raise BadArgument(f"LAFKA_ITEMS={named}: LAFKA_TOKENS has no keys of {place.host}")
    return S3Target(place, keys, folder / WORK)


_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Token:
    """A header field that a host wants to see; it has no repr."""

    header: str
    value: str


def load_tokens(path: str | None) -> dict[str, Token]:
    """Tokens by host; ``BadArgument`` where the file is none, or others may read it."""
    values = _loaded(path)
    return {host: _token(path, host, each) for host, each in values.items() if not _is_key(each)}


def load_keys(path: str | None) -> dict[str, Keys]:
    """The keys of stores by host, as :func:`load_tokens`."""
    values = _loaded(path)
    return {host: _keys(path, host, each) for host, each in values.items() if _is_key(each)}


def _loaded(path: str | None) -> dict[str, object]:
    if not path:
        return {}
    try:
        mode = Path(path).stat().st_mode
        values = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise BadArgument(f"LAFKA_TOKENS: {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise BadArgument(f"LAFKA_TOKENS: {path}: not JSON") from None
    if stat.S_IMODE(mode) & 0o077:
        raise BadArgument(f"LAFKA_TOKENS: {path}: others may read it; chmod 600 it")
    if not isinstance(values, dict):
        raise BadArgument(f"LAFKA_TOKENS: {path}: no object of hosts")
    return {host.lower(): value for host, value in values.items()}


def _is_key(value: object) -> bool:
    return isinstance(value, dict) and ("access_key" in value or "secret_key" in value)


def _keys(path: str | None, host: str, value: Any) -> Keys:
    texts = value.get("access_key"), value.get("secret_key")
    if all(isinstance(text, str) and _VALUE.fullmatch(text) for text in texts):
        return Keys(access_key=texts[0], secret_key=texts[1])
    raise BadArgument(f"LAFKA_TOKENS: {path}: {host} needs an access_key and a secret_key")


def _token(path: str | None, host: str, value: object) -> Token:
    if isinstance(value, dict):
        header, text = value.get("header"), value.get("value")
        if not isinstance(header, str) or not isinstance(text, str):
            header = text = ""
        if _NAME.fullmatch(header) and _VALUE.fullmatch(text):
            return Token(header=header, value=text)
    raise BadArgument(f"LAFKA_TOKENS: {path}: {host} needs a header and a value, of one line each")


def is_safe(url: str) -> bool:
    """Return whether nobody on the way reads what is sent: TLS, or this machine itself."""
    parts = urlsplit(url)
    if parts.scheme == "https":
        return True
    try:
        return ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False
