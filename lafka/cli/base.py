"""The base of Lafka's commands: one sentence and an exit code for what cannot be done."""

from __future__ import annotations

import json
import os
import re
import sys
from abc import abstractmethod
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn, TextIO

from lafka import papers
from lafka.cli.plain import PlainCommand
from lafka.cli.verbs import told
from lafka.errors import BadArgument, KeeperError, LafkaError, StorageTrouble, WarcError
from lafka.runs import sources
from lafka.runs.sources import archive_line, meant
from lafka.runs.terminals import program

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from lafka.papers import Archive


INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it: 128 and the number of SIGINT."""


def refused(verb: str, error: LafkaError | WarcError) -> int:
    """Say on stderr, in one sentence, why *verb* cannot be done; the exit code for it.

    1 where something stored is damaged, 2 for what was asked for or set.
    """
    print(f"{program()} {verb}: {error}", file=sys.stderr)
    return 1 if isinstance(error, KeeperError) else 2


def attempt(verb: str, work: Callable[[], None]) -> int:
    """Do *work*; the exit code, 0 where nothing was raised."""
    try:
        code = _done(verb, work)
    except BrokenPipeError:  # whoever read has read enough
        code = 1
    for stream in (sys.stdout, sys.stderr):
        _hush(stream)
    return code


def _done(verb: str, work: Callable[[], None]) -> int:
    try:
        work()
        sys.stdout.flush()
    except (LafkaError, WarcError) as error:
        return refused(verb, error)
    except KeyboardInterrupt:
        print(f"{program()} {verb}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except OSError as error:
        return refused(verb, StorageTrouble(error.filename or "standard output", error))
    return 0


def _hush(stream: TextIO) -> None:
    """Let what *stream* still holds and cannot write go nowhere: Python would tell at its end."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def settle(settings: BaseSettings | None, verb: str) -> None:
    """Apply what is set outside the code, and warn of what is no setting; ``BadArgument``."""
    assert settings is not None
    said = sources.here()
    sources.apply(settings, said)
    for sentence in said.unknown:
        print(f"{program()} {verb}: warning: {sentence}", file=sys.stderr)


def tell_archive(settings: BaseSettings | None, name: str = "LAFKA_ARCHIVE") -> None:
    """Say which archive is written to; where a log file is read alone, the log does."""
    assert settings is not None
    if sys.stderr.isatty() or not settings.get("LOG_FILE"):
        print(archive_line(settings, name), file=sys.stderr, flush=True)


def check_args(args: list[str], most: int | None, parser: ArgumentParser | None = None) -> None:
    """``BadArgument`` for an option that is not of *parser*, or for more than *most* arguments."""
    for arg in args:
        if arg.startswith("-") and arg != "-":
            known = re.findall(r"--[a-z][a-z-]+", parser.format_help()) if parser else []
            raise BadArgument(f"unknown option {arg}{meant(arg.partition('=')[0], known)}")
    if most is not None and len(args) > most:
        raise BadArgument(f"unexpected argument {args[most]!r}")


def json_line(values: Mapping[str, Any]) -> str:
    """*values* as one line of JSON, without its line end."""
    return json.dumps(values, ensure_ascii=False)


def the_file(path: str) -> Path:
    """*path*; ``BadArgument`` where no file is there."""
    found = Path(path)
    if not found.exists():
        raise BadArgument(f"{path}: no such file")
    if not found.is_file():
        raise BadArgument(f"{path}: not a file")
    return found


def the_files(paths: Iterable[str]) -> list[Path]:
    return [the_file(path) for path in paths]


def place(text: str) -> int:
    """*text* as a byte of a file; ``ValueError``."""
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ValueError(text)
    return int(text)


class ArchiveCommand(PlainCommand):
    """A command that works on the archive of the settings, without a crawl."""

    most_args: ClassVar[int | None] = None
    writes: ClassVar[bool] = False
    """Whether it writes to the archive: its first line then says to which."""

    @abstractmethod
    def act(self, args: list[str], opts: Namespace) -> None:
        """Do it; a LafkaError or WarcError ends as a sentence on stderr."""

    def run(self, args: list[str], opts: Namespace) -> None:
        def act() -> None:
            check_args(args, self.most_args, self.parser)
            settle(self.settings, self.verb)
            if self.writes:
                tell_archive(self.settings)
            self.act(args, opts)

        self.exitcode = attempt(self.verb, act) or self.exitcode

    def archive(self) -> Archive:
        """The archive that LAFKA_ARCHIVE names; ``BadArchive``."""
        collection = self.settings["LAFKA_COLLECTION"] or None
        return papers.Archive(self.settings["LAFKA_ARCHIVE"], collection)

    def the_pid(self, args: list[str]) -> str:
        """The one pid among *args*; ``BadArgument`` where there is none."""
        if not args:
            raise BadArgument("say which paper: its pid is missing")
        return args[0]


class _Parser(ArgumentParser):
    """Refuses in one sentence."""

    def error(self, message: str) -> NoReturn:
        _refuse(self.prog, message)


def _refuse(prog: str, message: str) -> NoReturn:
    if found := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message):
        message += meant(found[1], re.findall(r"[\w-]+", found[2]))
    print(f"{prog}: {message}", file=sys.stderr)
    raise SystemExit(2)


class GroupVerb(NamedTuple):
    """A verb of a group: one line on what it does, examples, its arguments, and the act, which
    gives the exit code.
    """

    help: str
    examples: tuple[str, ...]
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[..., int]


class GroupCommand(PlainCommand):
    """``lafka GROUP VERB``: *verbs* by name."""

    verbs: ClassVar[Mapping[str, GroupVerb]]

    usage = "VERB ..."

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.error = partial(_refuse, f"{program()} {self.verb}")  # type: ignore[method-assign]
        verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=_Parser)
        for name, verb in self.verbs.items():
            one = verbs.add_parser(
                name,
                prog=f"{program()} {self.verb} {name}",
                help=verb.help,
                description=verb.help[0].upper() + verb.help[1:] + ".",
                epilog=told(verb.examples),
                formatter_class=RawDescriptionHelpFormatter,
            )
            verb.add_arguments(one)
            self.add_to(one)
            one.set_defaults(act=verb.run)

    def add_to(self, verb: ArgumentParser) -> None:
        """Add what every verb of the group takes."""

    def act(self, opts: Namespace) -> int:
        """Do the verb; its exit code."""
        code: int = opts.act(opts)
        return code

    def run(self, args: list[str], opts: Namespace) -> None:
        code = 0

        def act() -> None:
            nonlocal code
            check_args(args, 0, self.parser)
            if not opts.verb:
                raise BadArgument(f"say a verb: {', '.join(self.verbs)}")
            if self.settings and "LAFKA_ARCHIVE" in self.settings:  # else it is run by itself
                settle(self.settings, name)
            code = self.act(opts)

        name = f"{self.verb} {opts.verb}" if opts.verb else self.verb
        self.exitcode = attempt(name, act) or code
