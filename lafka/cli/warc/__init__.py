"""``lafka warc VERB``: each verb is a module here with a ``run`` that gives the exit code."""

from __future__ import annotations

from lafka.cli._shared.base import GroupCommand

VERBS = (
    "ls", "cdx", "cdxj", "link", "get", "search", "check", "repair", "recompress",
    "arc2warc", "warc2arc",
)  # fmt: skip


class Command(GroupCommand):
    verbs = VERBS

    def short_desc(self) -> str:
        return "List, read, search, check, mend and convert WARC, ARC and like files"
