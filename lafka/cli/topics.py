"""``lafka topics kafka://HOST --create|--check``: the topics of ingest."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from lafka.cli.base import ArchiveCommand
from lafka.errors import BadArgument


class TopicsCommand(ArchiveCommand):
    most_args = 1

    def syntax(self) -> str:
        return "kafka://HOST[,HOST] [--create|--check]"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--create", action="store_true", help="make those that are missing")
        parser.add_argument("--check", action="store_true", help="tell what is not as it should be")
        copies = "of each partition, of topics that are made; what brokers do by themselves"
        parser.add_argument("--copies", type=int, default=-1, metavar="N", help=copies)

    def act(self, args: list[str], opts: Namespace) -> None:
        from lafka.filesets.results import topics  # noqa: PLC0415
        from lafka.jobs.kafka.places import Place, properties  # noqa: PLC0415
        from lafka.jobs.kafka.topics import create, differences  # noqa: PLC0415

        if not args or opts.create == opts.check:
            raise BadArgument("say where and what: kafka://HOST, and --create or --check")
        assert self.settings is not None
        servers = Place.parse(args[0]).servers
        how = properties(self.settings["LAFKA_KAFKA"])
        wanted = topics(self.settings["LAFKA_KAFKA_PREFIX"], self.settings["LAFKA_KAFKA_ENV"])
        if opts.create:
            for topic in create(servers, wanted, how, replication=opts.copies):
                print(f"{topic.name}: made, {topic.partitions} partitions")
        found = differences(servers, wanted, how)
        for sentence in found:
            print(sentence)
        self.exitcode = 1 if found else 0
        print(f"{len(wanted)} topics, {len(found)} differences", file=sys.stderr)
