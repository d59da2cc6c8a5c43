"""The rules of a store, read off the design once more: names, folders, texts."""

from __future__ import annotations

import hashlib
import re

UNRESERVED = set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_UPPER = set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"


def name_of(obi: str, *, folded: bool) -> str:
    """The name of the file of an obi."""
    kept = UNRESERVED - _UPPER if folded else UNRESERVED
    data = obi.encode("utf-8", "surrogatepass")
    pieces = [chr(byte) if byte in kept else f"%{byte:02X}" for byte in data]
    if sum(map(len, pieces)) <= 255:
        return "".join(pieces)
    head = ""
    for piece in pieces:
        if len(head) + len(piece) > 221:
            break
        head += piece
    return f"{head}%%{hashlib.sha256(data).hexdigest()[:32]}"


def folder_of(tist: int) -> str:
    reverse = "".join(reversed(str(tist)))
    return "/".join((reverse[0:3], reverse[3:6], reverse[6:]))


def tist_of(parts: tuple[str, ...]) -> int | None:
    """The tist of a folder's three names; None where they are those of none."""
    reverse = "".join(parts)
    if [len(part) for part in parts[:2]] != [3, 3] or not re.fullmatch(r"[0-9]{9,11}", reverse):
        return None
    return None if reverse.endswith("0") else int("".join(reversed(reverse)))


def template_md5(data: bytes) -> str:
    """The MD5 of the text of a template."""
    lines = re.split("\r\n|\r|\n", "".join(_characters(data)))
    texts = [line.removeprefix(_BOM) for line in lines]
    kept = [line for line in texts if not line.startswith("#")]
    while kept and re.fullmatch("[ \t\v\f]*", kept[-1]):
        del kept[-1]
    text = "".join(f"{line}\n" for line in kept) or "\n"
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _characters(data: bytes) -> list[str]:
    """*data* as text, line by line: UTF-8 where a line is that, else Windows-1252."""
    texts = []
    for line in re.findall(rb"[^\r\n]*[\r\n]?", data):
        try:
            texts.append(str(line, "utf-8"))
        except UnicodeDecodeError:
            texts.append("".join(map(_windows_1252, line)))
    return texts


def _windows_1252(byte: int) -> str:
    try:
        return bytes((byte,)).decode("cp1252")
    except UnicodeDecodeError:
        return chr(byte)
