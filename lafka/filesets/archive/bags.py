"""A version of a fileset as a BagIt 1.0 bag (RFC 8493), with SHA-256 and MD5 manifests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from lafka.errors import BadArgument, BadWarc, StorageTrouble
from lafka.filesets.archive.filesets import Filesets, StoredFile, Unpacked
from lafka.filesets.targets.names import local_names
from lafka.storage import drafts
from lafka.storage.folders import make_folders

_DECLARATION = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"


def make_bag(filesets: Filesets, fileset_id: str, folder: Path, version: str | None = None) -> int:
    """Make the bag *folder* of a version; the number of its files.

    Each file is held against its summary while it is copied. Where a name is none for every disk it
    is escaped, and ``names.tsv`` tells the file's own path. ``BadArgument`` where *folder* is there
    and not empty, ``NotHeld``, ``BadWarc``, ``StorageTrouble``.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadArgument(f"{folder}: not empty")
    name, held = filesets.version(fileset_id, version)
    names = {path: _plain(local) for path, local in local_names(held.files).items()}
    stored = [filesets.stored(fileset_id, path, entry) for path, entry in held.files.items()]
    places = {path: folder / "data" / names[path] for path in held.files}
    digests: dict[str, dict[str, str]] = {}
    with Unpacked() as unpacked:
        for file in sorted(stored, key=_in_bundle):
            digests[file.path] = _copied(file, places[file.path], unpacked)
    size = sum(place.stat().st_size for place in places.values())
    tags = {
        f"manifest-{algorithm}.txt": "".join(
            f"{digests[path][algorithm]}  data/{names[path]}\n" for path in held.files
        )
        for algorithm in ("sha256", "md5")
    }
    tags["bag-info.txt"] = (
        f"External-Identifier: {fileset_id}\nExternal-Description: version {name}\n"
        f"Payload-Oxum: {size}.{len(held.files)}\n"
    )
    if any(path != local for path, local in names.items()):
        tags["names.tsv"] = "".join(f"data/{local}\t{path}\n" for path, local in names.items())
    for tag, text in tags.items():
        drafts.replace(folder / tag, [text.encode("utf-8", "surrogatepass")])
    drafts.replace(folder / "bagit.txt", [_DECLARATION])
    return len(held.files)


def _plain(local: str) -> str:
    """A name without ``%``, which readers of manifests take differently (RFC 8493, 2.1.3)."""
    return local.replace("=", "=3D").replace("%", "=")


def _in_bundle(stored: StoredFile) -> tuple[str, int, int]:
    """Return what sorts the members of each gzipped bundle so that it is unpacked once."""
    packed = stored.packed
    return (str(stored.place), packed.s, packed.at) if packed else ("", 0, 0)


def _copied(stored: StoredFile, place: Path, unpacked: Unpacked) -> dict[str, str]:
    made = {name: hashlib.new(name, usedforsecurity=False) for name in ("sha256", "md5")}

    def passing() -> Iterator[bytes]:
        for piece in stored.pieces(unpacked):
            for digest in made.values():
                digest.update(piece)
            yield piece

    make_folders(place.parent)
    try:
        drafts.replace(place, passing())
    except OSError as error:
        raise StorageTrouble(stored.place, error) from error
    found = {name: digest.hexdigest() for name, digest in made.items()}
    if f"sha256:{found['sha256']}" != stored.entry.digest:
        raise BadWarc(Path(stored.place), f"{stored.path!r} is not what its summary says")
    return found
