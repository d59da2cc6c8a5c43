"""``lafka outcomes``: how each line of all runs ended at last, as a table."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from lafka.cli._shared.base import ArchiveCommand
from lafka.errors import BadArgument

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from lafka.papers.archive.catalogue import Ended

COLUMNS: dict[str, type] = {
    "pid": str, "futli": str, "outcome": str, "group": str, "time": str, "futs": list,
    "splap": str, "candidates": list, "capped": bool, "requests": int, "error": str, "run": str,
}  # fmt: skip


class Command(ArchiveCommand):
    most_args = 0

    def syntax(self) -> str:
        return "[--group GROUP] [--outcome WORD] [--jsonl|--csv|--sqlite FILE|--parquet FILE]"

    def short_desc(self) -> str:
        return "List how each line of all runs ended at last, with its futs"

    def add_options(self, parser: ArgumentParser) -> None:
        from lafka.cli._shared import sheets  # noqa: PLC0415

        super().add_options(parser)
        parser.add_argument("--group", metavar="GROUP", help="held, 'page only', 'not there', ...")
        parser.add_argument("--outcome", metavar="WORD", help="fut, splap-only, not-found, ...")
        sheets.add_options(parser)

    def act(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        from lafka.cli._shared import sheets  # noqa: PLC0415
        from lafka.papers import Group, Outcome  # noqa: PLC0415

        groups, words = _those(opts.group, Group), _those(opts.outcome, Outcome)
        found = (
            line
            for line in self.archive().outcomes(problem=self.wrong)
            if line.outcome.group in groups and line.outcome in words
        )
        sheets.write("outcomes", COLUMNS, map(_row, found), opts)

    def wrong(self, error: Exception) -> None:
        """Tell of a held fut that cannot be looked up; its line is given without it."""
        print(error, file=sys.stderr)
        self.exitcode = 1


def _those(asked: str | None, known: Any) -> tuple[str, ...]:
    """All that are *known*, or the one that is *asked* for; ``BadArgument``."""
    if asked is not None and asked not in list(known):
        raise BadArgument(f"{asked!r} is none of {', '.join(known)}")
    return tuple(word for word in known if asked in (None, word))


def _row(line: Ended) -> dict[str, Any]:
    row = {name: getattr(line, name) for name in COLUMNS if name != "group"}
    futs = [fut.as_json() for fut in line.futs]
    told = {"outcome": str(line.outcome), "group": str(line.outcome.group)}
    return row | told | {"futs": futs, "candidates": list(line.candidates)}
