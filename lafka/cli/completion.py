"""``lafka completion``: the completion for shells, and the man page, made from the commands."""

from __future__ import annotations

import re
import sys
from argparse import SUPPRESS, Action, _SubParsersAction
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy.cmdline import ScrapyArgumentParser

import lafka
from lafka.cli.base import ArchiveCommand
from lafka.cli.running import command, verbs
from lafka.errors import BadArgument

if TYPE_CHECKING:
    from argparse import Namespace


class CompletionCommand(ArchiveCommand):
    most_args = 1

    def syntax(self) -> str:
        return "bash|zsh|fish|man"

    def act(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        if args and args[0] == "man":
            sys.stdout.write(manual(lafka.__version__))
        elif args and args[0] in SHELLS:
            sys.stdout.write(completion(args[0]))
        else:
            raise BadArgument(f"say for which shell: {', '.join(SHELLS)}; or man")


SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option: its names, what stands for its value ("" where it has none), its help."""

    names: tuple[str, ...]
    value: str
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """A command of ``lafka``, or one of a group: ``warc ls``."""

    name: str
    syntax: str
    help: str
    options: tuple[Option, ...]
    below: tuple[Verb, ...] = ()


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
        below=tuple(below),
    )


def _below(group: str, action: Action) -> Iterator[Verb]:
    if not isinstance(action, _SubParsersAction):
        return
    told = {choice.dest: choice.help or "" for choice in action._choices_actions}
    for name, parser in action.choices.items():
        options = tuple(_options(parser._actions))
        usage = " ".join(parser.format_usage().split()).partition(f" {name} ")[2]
        yield Verb(name=f"{group} {name}", syntax=usage, help=told.get(name, ""), options=options)


def _options(actions: list[Action]) -> Iterator[Option]:
    for action in actions:
        if action.option_strings and action.help != SUPPRESS:
            value = "" if action.nargs == 0 else _value(action)
            text = " ".join((action.help or "").replace("%(default)s", "").split())
            yield Option(names=tuple(action.option_strings), value=value, help=text)


def _value(action: Action) -> str:
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    return action.metavar or action.dest.upper()


def completion(shell: str) -> str:
    """The script that *shell*, one of ``SHELLS``, reads to complete ``lafka``."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](all_verbs())


def _words(verb: Verb) -> str:
    """Return what may follow *verb*: verbs below it, then options."""
    below = [one.name.partition(" ")[2] for one in verb.below]
    return " ".join([*below, *(name for option in verb.options for name in option.names)])


def _cases(found: list[Verb]) -> Iterator[tuple[str, str]]:
    for verb in found:
        yield verb.name, _words(verb)
        yield from _cases(list(verb.below))


def _bash(found: list[Verb]) -> str:
    cases = "\n".join(f'    "{name}") words="{words}" ;;' for name, words in _cases(found))
    top = " ".join(verb.name for verb in found)
    groups = "|".join(verb.name for verb in found if verb.below)
    return f"""# bash completion of lafka; made by: lafka completion bash
_lafka() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" verb="${{COMP_WORDS[1]}}" words=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{top}" -- "$cur"))
    return
  fi
  case "$verb" in
    {groups}) [ "$COMP_CWORD" -gt 2 ] && verb="$verb ${{COMP_WORDS[2]}}" ;;
  esac
  case "$verb" in
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -F _lafka lafka
"""


def _quoted(text: str) -> str:
    return text.replace("'", "'\\''")


def _zsh(found: list[Verb]) -> str:
    told = "\n".join(f"    '{verb.name}:{_quoted(verb.help)}'" for verb in found)
    cases = "\n".join(f"    '{name}') words_=({words}) ;;" for name, words in _cases(found))
    groups = "|".join(verb.name for verb in found if verb.below)
    return f"""#compdef lafka
# zsh completion of lafka; made by: lafka completion zsh
_lafka() {{
  local -a verbs words_
  local verb=$words[2]
  verbs=(
{told}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' verbs
    return
  fi
  case $verb in
    {groups}) (( CURRENT > 3 )) && verb="$verb $words[3]" ;;
  esac
  case $verb in
{cases}
  esac
  compadd -- $words_
  _files
}}
compdef _lafka lafka
"""


def _fish(found: list[Verb]) -> str:
    lines = ["# fish completion of lafka; made by: lafka completion fish"]
    for verb in found:
        told = f"-a '{verb.name}' -d '{_fished(verb.help)}'"
        lines.append(f"complete -c lafka -n __fish_use_subcommand -f {told}")
        seen = f"'__fish_seen_subcommand_from {verb.name}'"
        for one in verb.below:
            name = one.name.partition(" ")[2]
            lines.append(f"complete -c lafka -n {seen} -f -a '{name}' -d '{_fished(one.help)}'")
        for option in (*verb.options, *(o for one in verb.below for o in one.options)):
            names = " ".join(_fish_name(name) for name in option.names)
            needs = " -r" if option.value else ""
            lines.append(f"complete -c lafka -n {seen} {names}{needs} -d '{_fished(option.help)}'")
    return "\n".join(dict.fromkeys(lines)) + "\n"


def _fish_name(name: str) -> str:
    return f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"


def _fished(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


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
    for one in verb.below:
        yield from _manual_of(one)


def _roff(text: str) -> str:
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"(?m)^(?=[.'])", r"\\&", text)
