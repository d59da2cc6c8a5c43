"""``lafka completion``: the completion for shells, and the man page, made from the commands."""

from __future__ import annotations

import re
import sys
from argparse import SUPPRESS, Action, Namespace, _SubParsersAction
from collections.abc import Iterable, Iterator

from scrapy.cmdline import ScrapyArgumentParser

import lafka
from lafka.cli.base import ArchiveCommand
from lafka.cli.running import command, verbs
from lafka.cli.verbs import VERBS
from lafka.cli.words import SHELLS, CommandWords, Option, Verb, script, write_completed
from lafka.errors import BadArgument
from lafka.filesets.crawling.arguments import ARGUMENTS as FILESET_ARGUMENTS
from lafka.papers.crawling.arguments import ARGUMENTS as LIST_ARGUMENTS
from lafka.papers.crawling.arguments import HELPS
from lafka.papers.outcomes import Group, Outcome
from lafka.runs.sources import meant
from lafka.spiders.fobi_arguments import ARGUMENTS as FOBI_ARGUMENTS

CHOICES: dict[str, Iterable[str]] = {"--group": Group, "--outcome": Outcome}
"""The values of options that argparse does not hold to them."""


class CompletionCommand(ArchiveCommand):
    most_args = 2
    usage = "bash|zsh|fish|man"

    def act(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        if args and args[0] == "words":  # asked so by a script of another version
            line = sys.stdin.read()
            words, _, rest = line.partition("\n")
            write_completed(rest if words.startswith("[") else line, all_words(), self.archive)
        elif len(args) > 1:
            raise BadArgument(f"unexpected argument {args[1]!r}")
        elif args and args[0] == "man":
            sys.stdout.write(manual(lafka.__version__))
        elif args and args[0] in SHELLS:
            sys.stdout.write(script(args[0], all_words()))
        else:
            guess = meant("".join(args), [*SHELLS, "man"])
            raise BadArgument(f"say for which shell: {', '.join(SHELLS)}; or man{guess}")


def all_words() -> CommandWords:
    """All words of this version."""
    of_futli = {name: HELPS[name] for name in LIST_ARGUMENTS}
    others = {"fobi": FOBI_ARGUMENTS, "fileset": FILESET_ARGUMENTS}
    spiders = {"futli": of_futli} | {name: dict.fromkeys(of, "") for name, of in others.items()}
    return CommandWords(lafka.__version__, tuple(all_verbs()), spiders)


def all_verbs() -> list[Verb]:
    """Every command, in the order in which ``lafka -h`` lists them."""
    return [_verb(name) for name in verbs()]


def _verb(name: str) -> Verb:
    made = command(name)
    parser = ScrapyArgumentParser(conflict_handler="resolve", add_help=True)
    made.add_options(parser)
    actions = parser._actions
    below = [verb for action in actions for verb in _below(name, action)]
    return Verb(
        name=name,
        syntax=made.syntax(),
        help=made.short_desc(),
        options=tuple(_options(actions)),
        examples=VERBS[name].examples if name in VERBS else (),
        below=tuple(below),
    )


def _below(group: str, action: Action) -> Iterator[Verb]:
    if not isinstance(action, _SubParsersAction):
        return
    told = {choice.dest: choice.help or "" for choice in action._choices_actions}
    for name, parser in action.choices.items():
        usage = " ".join(parser.format_usage().split()).partition(f" {name} ")[2]
        yield Verb(
            name=f"{group} {name}",
            syntax=usage,
            help=told.get(name, ""),
            options=tuple(_options(parser._actions)),
            examples=tuple(line.strip() for line in (parser.epilog or "").splitlines()[1:]),
        )


def _options(actions: list[Action]) -> Iterator[Option]:
    for action in actions:
        if action.option_strings and action.help != SUPPRESS:
            value = "" if action.nargs == 0 else _value(action)
            text = " ".join((action.help or "").replace("%(default)s", "").split())
            names = tuple(action.option_strings)
            choices = action.choices or CHOICES.get(names[0], ())
            yield Option(names, value, text, tuple(map(str, choices)))


def _value(action: Action) -> str:
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    return action.metavar or action.dest.upper()


def manual(version: str) -> str:
    """The man page ``lafka(1)``, in the macros of man(7)."""
    parts = [
        f'.TH LAFKA 1 "" "Lafka {version}" "User Commands"',
        ".SH NAME",
        r"lafka \- archives the full texts of scholarly papers",
        ".SH SYNOPSIS",
        ".B lafka",
        r".I COMMAND \fR[\fIoptions\fR] [\fIargs\fR]",
        ".SH DESCRIPTION",
        "A list of links becomes one WARC file a paper; a summary beside each says where its PDF",
        "lies. It is Scrapy's command line with Lafka's settings, in any folder.",
        ".SH COMMANDS",
    ]
    for verb in all_verbs():
        parts += _manual_of(verb)
    parts += [
        ".SH EXIT STATUS",
        "0 done; 1 something stored is damaged, or the disk stopped a crawl; 2 the command cannot",
        "do what was asked; 3 and 4 a crawl was stopped by a signal.",
        ".SH ENVIRONMENT",
        r"\fBLAFKA_*\fR: any setting; \fBlafka settings\fR shows each and where it came from.",
    ]
    return "\n".join(parts) + "\n"


def _manual_of(verb: Verb) -> Iterator[str]:
    yield f".SS {_roff(verb.name)} {_roff(verb.syntax)}".rstrip()
    yield _roff(f"{verb.help[:1].upper()}{verb.help[1:]}.")
    for option in verb.options:
        names = ", ".join(rf"\fB{_roff(name)}\fR" for name in option.names)
        yield ".TP"
        yield f"{names} {_roff(option.value)}".rstrip()
        yield _roff(option.help) or r"\&"
    if verb.examples:
        yield from (".PP", ".EX", *map(_roff, verb.examples), ".EE")
    for one in verb.below:
        yield from _manual_of(one)


def _roff(text: str) -> str:
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"(?m)^(?=[.'])", r"\\&", text)
