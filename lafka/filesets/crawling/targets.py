"""``LAFKA_ITEMS``: the target that it names, a folder or a bucket."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lafka.errors import BadArgument
from lafka.filesets.targets.folder import FolderTarget
from lafka.filesets.targets.target import Target

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

WORK = ".work"
"""Folder, below that of items, in which items of a bucket are made."""


def target_of(settings: BaseSettings) -> Target:
    """Return where items are kept; ``BadArgument`` where that cannot be."""
    named, folder = settings.get("LAFKA_ITEMS"), Path(settings["LAFKA_ARCHIVE"]) / "items"
    if not str(named or "").startswith("s3://"):
        return FolderTarget(Path(named) if named else folder)
    # Who has no bucket waits neither for Scrapy, which tokens go by, nor for what buckets need.
    from lafka.filesets.crawling.tokens import is_safe, load_keys  # noqa: PLC0415
    from lafka.filesets.targets.s3 import Place, S3Target  # noqa: PLC0415

    place = Place.parse(named, settings.get("AWS_ENDPOINT_URL"), settings.get("AWS_REGION_NAME"))
    if place.endpoint and not is_safe(place.endpoint):
        raise BadArgument(f"AWS_ENDPOINT_URL={place.endpoint}: keys go by https alone")
    keys = load_keys(settings.get("LAFKA_TOKENS")).get(place.host)
    if keys is None:
        raise BadArgument(f"LAFKA_ITEMS={named}: LAFKA_TOKENS has no keys of {place.host}")
    return S3Target(place, keys, folder / WORK)
