"""``lafka persist INPUT``: results of filesets into the tables of a database."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace

from lafka.cli.base import ArchiveCommand
from lafka.errors import BadArgument
from lafka.runs.terminals import program


class PersistCommand(ArchiveCommand):
    most_args = 1

    def syntax(self) -> str:
        return "RESULTS.jsonl|-|kafka://HOST [--db URL] [--create]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        place = "a path, or postgresql://HOST/NAME, in place of LAFKA_DATABASE"
        parser.add_argument("--db", metavar="URL", help=place)
        made = "make the tables that are missing; without RESULTS that alone"
        parser.add_argument("--create", action="store_true", help=made)
        dead = "where results go that are refused, as lines of JSON"
        parser.add_argument("--dead", metavar="FILE", help=dead)

    def act(self, args: list[str], opts: Namespace) -> None:
        from lafka.filesets.results import (  # noqa: PLC0415
            Persister,
            dead_letters,
            persist,
            persist_topics,
            place_of,
        )  # fmt: skip
        from lafka.jobs.database import opened  # noqa: PLC0415
        from lafka.jobs.kafka.places import is_kafka  # noqa: PLC0415

        if not args and not opts.create:
            raise BadArgument("say what to persist: a file of results, or -")
        assert self.settings is not None
        root = self.settings["LAFKA_ARCHIVE"]
        place = opts.db or place_of(root, self.settings["LAFKA_DATABASE"])
        with opened(place) as database, dead_letters(root, opts.dead) as dead:
            if opts.create:
                database.create()
            persister = Persister(database=database, dead=dead, wait=_wait)
            if args and is_kafka(args[0]):
                persist_topics(args[0], persister, self.settings)
            elif args:
                persist(args[0], persister)
        done = persister.account
        print(f"{done.written} results written, {done.refused} refused", file=sys.stderr)
        self.exitcode = 1 if done.refused else 0


def _wait(seconds: float, sentence: str) -> None:
    print(f"{program()} persist: {sentence}; again in {seconds:.0f} s", file=sys.stderr, flush=True)
    time.sleep(seconds)
