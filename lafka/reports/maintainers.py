"""A report for the maintainer of an archive as a letter and a feed, and what is new since another.

What is said is what was seen: when a link was last had, since when it fails, where its copy is; and
what the outcome means to who can mend the link.
"""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from lafka.errors import BadArgument, printable
from lafka.papers.outcomes import Outcome
from lafka.reports.rendering import FORMAT, values
from lafka.reports.tables import Cell, Table, TableReport
from lafka.storage.outputs import counted

Row = Mapping[str, Any]


def load_report(path: Path) -> Row:
    """An earlier report in JSON; ``BadArgument`` where the file is none."""
    try:
        told = json.loads(path.read_bytes())
    except OSError as error:
        raise BadArgument(f"--before {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise BadArgument(f"--before {path}: no report in JSON of format {FORMAT}")
    return told


def differences(whole: TableReport, before: Row) -> Iterator[Table]:
    """Yield what is not as in the report *before*; ``BadArgument`` where that is of others."""
    now, since = values(whole), before.get("as_of")
    if before.get("archive") != (whole.archive or None):
        raise BadArgument(f"--before: that report is of {before.get('archive') or 'all archives'}")
    if isinstance(old := before.get("summary"), dict) and "summary" in now:
        rows = tuple(
            (what, old[what], value, round(value - old[what], 6))
            for what, value in now["summary"].items()
            if isinstance(value, int | float) and isinstance(old.get(what), int | float)
            and value != old[what]
        )  # fmt: skip
        yield Table(key="difference", title=f"Difference to the report of {since}", rows=rows,
                    columns=("what", "before", "now", "change"))  # fmt: skip
    if isinstance(listed := before.get("to_mend"), list):
        keys = ("pid", "futli", "outcome")
        there = {tuple(row[key] for key in keys[:2]): row for row in now.get("to_mend", ())}
        known = {tuple(row.get(key) for key in keys[:2]): row for row in listed}
        for key, title, found, other in (
            ("newly_failing", f"Failing since the report of {since}", there, known),
            ("mended", f"Mended since the report of {since}", known, there),
        ):
            new: tuple[tuple[Cell, ...], ...] = tuple(
                tuple(row.get(name) for name in keys)
                for place, row in found.items() if place not in other
            )  # fmt: skip
            yield Table(key=key, title=title, columns=keys, rows=new)


def _links(whole: TableReport) -> list[Row]:
    links: list[Row] = values(whole)["to_mend"]
    return links


def as_letter(whole: TableReport) -> bytes:
    """The report as a letter in plain text, links by their outcome."""
    links = _links(whole)
    once = [row for row in links if row["had"]]
    lines = [f"Subject: no full text at {counted(len(links), 'link')} of {whole.archive}", "",
             f"Dear maintainer of {whole.archive},", ""]  # fmt: skip
    day = whole.span.as_of[:10]
    if links:
        found = f"As of {day}, {counted(len(links), 'link')} of your archive led to no full text"
        lines += [f"{found} when we last asked."]
        if once:
            lines += [f"Of these, {len(once)} once did, and we keep the copies."]
        lines += ["They stand below by what the servers said."]
    else:
        lines.append(f"As of {day} each link of your archive led to a full text. Thank you.")
    by_outcome: dict[str, list[Row]] = defaultdict(list)
    for row in links:
        by_outcome[row["outcome"]].append(row)
    for outcome, rows in by_outcome.items():
        lines += [
            "",
            f"{outcome}: {len(rows)} (CitEc: {rows[0]['citec']})",
            Outcome(outcome).meaning,
        ]
        for row in rows:
            lines += ["", f"  {printable(row['title'] or row['pid'])}", *_facts(row)]
    for table in whole.tables[1:]:
        lines += ["", f"{table.title}: {len(table.rows)}"]
        lines += [printable(f"  {pid}  {futli}  {outcome}") for pid, futli, outcome in table.rows]
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")


def _facts(row: Row) -> Iterator[str]:
    for name, word in (("pid", "pid"), ("futli", "link"), ("had", "last had"), ("kept", "kept in"),
                       ("since", "fails since"), ("error", "said")):  # fmt: skip
        if row[name]:
            yield printable(f"    {word}: {row[name]}")


def as_atom(whole: TableReport) -> bytes:
    """The report as an Atom feed (RFC 4287), an entry a link, the newest failure first."""
    entries = sorted(_links(whole), key=lambda row: row["since"] or "", reverse=True)
    parts = [
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n',
        f"<title>{_xml(whole.title)}</title>\n",
        f"<id>{uuid.uuid5(uuid.NAMESPACE_URL, f'lafka:{whole.archive}').urn}</id>\n",
        f"<updated>{whole.span.as_of}</updated>\n<author><name>Lafka</name></author>\n",
        *map(_entry, entries),
        "</feed>\n",
    ]
    return "".join(parts).encode("utf-8", "backslashreplace")


def _entry(row: Row) -> str:
    name = uuid.uuid5(uuid.NAMESPACE_URL, f"{row['pid']} {row['futli']} {row['since']}").urn
    is_web = row["futli"].startswith(("http://", "https://"))
    link = f"<link href={quoteattr(printable(row['futli']))}/>" if is_web else ""
    summary = "\n".join([Outcome(row["outcome"]).meaning, *_facts(row)])
    return (
        f"<entry><title>{_xml(row['outcome'])}: {_xml(row['title'] or row['pid'])}</title>"
        f"<id>{name}</id><updated>{row['since'] or row['asked']}</updated>{link}"
        f"<category term={quoteattr(row['outcome'])}/><summary>{escape(summary)}</summary>"
        "</entry>\n"
    )


def _xml(text: str) -> str:
    return escape(printable(text))
