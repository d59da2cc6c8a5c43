"""A reader of link-format, written from RFC 6690, section 2, and of Link headers; none of ours."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Read:
    target: str
    attributes: dict[str, str]

    @property
    def rels(self) -> set[str]:
        return set(self.attributes["rel"].split())


def links(text: str) -> list[Read]:
    """Every link, in order; AssertionError where the grammar is broken."""
    found, rest = [], text.strip()
    while rest:
        assert rest[0] == "<", rest[:60]
        target, closing, rest = rest[1:].partition(">")
        assert closing, "no > behind the target"
        assert not set(target) & set(' "<\\^`{|}\r\n'), target
        attributes, rest = _attributes(rest)
        assert "rel" in attributes
        found.append(Read(target, attributes))
        if not rest:
            break
        assert rest[0] == ",", rest[:60]
        rest = rest[1:].lstrip()
        assert rest, "a comma behind the last link"
    return found


def _attributes(rest: str) -> tuple[dict[str, str], str]:
    attributes: dict[str, str] = {}
    while rest.startswith(";"):
        name, equals, rest = rest[1:].lstrip().partition("=")
        assert equals
        assert name not in attributes
        if rest[0] == '"':
            value, quote, rest = rest[1:].partition('"')
            assert quote
        else:
            end = min(place for place in (rest.find(";"), rest.find(","), len(rest)) if place >= 0)
            value, rest = rest[:end], rest[end:]
        attributes[name] = value
        rest = rest.lstrip()
    return attributes, rest


def by_rel(text: str) -> dict[str, list[Read]]:
    found: dict[str, list[Read]] = {}
    for link in links(text):
        for rel in link.rels:
            found.setdefault(rel, []).append(link)
    return found
