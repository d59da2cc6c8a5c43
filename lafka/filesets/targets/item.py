"""``item.json``: exactly what the ``internetarchive`` library's ``upload`` takes.

>>> import internetarchive, json  # doctest: +SKIP
>>> item = json.load(open("item.json"))
>>> internetarchive.upload(item["identifier"], files=item["files"], metadata=item["metadata"])
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from lafka.filesets.model.types import FilesetPlatformItem
from lafka.filesets.targets.names import local_names

FILES = "files"
"""The folder of an item's files, beside ``item.json``."""
COLLECTION = "datasets"

_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{2,79}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDescription:
    """The content of an item's ``item.json``.

    ``metadata``: text or lists of texts. ``files``: remote name, which is the file's path in the
    manifest, to its path relative to the item's folder.
    """

    identifier: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, item: FilesetPlatformItem, paths: list[str], *, collection: str = "") -> Self:
        """The description of *item* with the files *paths*; ``ValueError`` where it has no name."""
        name = item.archiveorg_item_name
        if name is None or not _IDENTIFIER.fullmatch(name):
            raise ValueError(f"no name of an item: {name!r}")
        metadata = dict(item.archiveorg_item_meta or {})
        metadata["collection"] = collection or metadata.get("collection") or COLLECTION
        names = local_names(paths, name)
        return cls(
            identifier=name,
            metadata=metadata,
            files={path: f"{FILES}/{local}" for path, local in names.items()},
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "identifier": self.identifier,
            "metadata": dict(self.metadata),
            "files": dict(self.files),
        }

    def to_bytes(self) -> bytes:
        """The file's bytes: UTF-8, indented, ended by a newline."""
        return json.dumps(self.as_json(), ensure_ascii=False, indent=1).encode() + b"\n"

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """``ValueError`` where *data* is no ``item.json``, or names a file outside its folder."""
        try:
            value = json.loads(data)
        except RecursionError:
            raise ValueError("nested too deeply") from None
        if not isinstance(value, dict):
            raise ValueError("no object")
        name, metadata, files = (value.get(key) for key in ("identifier", "metadata", "files"))
        if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name):
            raise ValueError(f"no name of an item: {str(name)[:100]!r}")
        if not isinstance(metadata, dict) or not isinstance(files, dict):
            raise ValueError("metadata and files have to be objects")
        for local in files.values():
            if not isinstance(local, str) or not _is_inside(local):
                raise ValueError(f"a file outside its folder: {str(local)[:100]!r}")
        return cls(identifier=name, metadata=metadata, files=files)


def _is_inside(local: str) -> bool:
    folder, *parts = local.split("/")
    unsafe = {"", ".", ".."} & set(parts)
    return folder == FILES and bool(parts) and not unsafe and "\\" not in local
