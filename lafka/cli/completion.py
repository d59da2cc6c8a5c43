"""``lafka completion``: the completion for shells, and the man page, made from the commands."""

from __future__ import annotations

import re
import shlex
import sys
from argparse import SUPPRESS, Action, _SubParsersAction
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.cmdline import ScrapyArgumentParser

import lafka
from lafka.cli.base import ArchiveCommand
from lafka.cli.running import command, verbs
from lafka.cli.verbs import VERBS
from lafka.errors import BadArgument, BadPid
from lafka.filesets.crawling.arguments import ARGUMENTS as FILESET_ARGUMENTS
from lafka.papers.crawling.arguments import ARGUMENTS as LIST_ARGUMENTS
from lafka.papers.crawling.arguments import HELPS
from lafka.papers.outcomes import Group, Outcome
from lafka.runs.sources import KNOWN
from lafka.spiders.fobi_arguments import ARGUMENTS as FOBI_ARGUMENTS
from lafka.storage.folders import names_below

if TYPE_CHECKING:
    from argparse import Namespace

    from lafka.papers.archive.archives import Archive


class CompletionCommand(ArchiveCommand):
    most_args = 1

    def syntax(self) -> str:
        return "bash|zsh|fish|man"

    def act(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        if args and args[0] == "man":
            sys.stdout.write(manual(lafka.__version__))
        elif args and args[0] == "words":  # the scripts ask so
            for word, text in completed(sys.stdin.read().removesuffix("\n"), self.archive):
                print(word, text, sep="\t")
        elif args and args[0] in SHELLS:
            sys.stdout.write(SHELLS[args[0]])
        else:
            raise BadArgument(f"say for which shell: {', '.join(SHELLS)}; or man")


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option: its names, what stands for its value ("" where it has none), its help."""

    names: tuple[str, ...]
    value: str
    help: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """A command of ``lafka``, or one of a group: ``warc ls``."""

    name: str
    syntax: str
    help: str
    options: tuple[Option, ...]
    examples: tuple[str, ...]
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
            names, choices = tuple(action.option_strings), tuple(map(str, action.choices or ()))
            yield Option(names=names, value=value, help=text, choices=choices)


def _value(action: Action) -> str:
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    return action.metavar or action.dest.upper()


def completed(line: str, archive: Callable[[], Archive]) -> Iterator[tuple[str, str]]:
    """Yield what may stand for the last word of *line*, and what each is for.

    *line* is what was typed so far, with the program's name; a word that it ends in is begun.
    Nothing comes where names of files may.
    """
    _, *said, word = ["", *_words(line)]
    for name, text in _candidates(said[1:], word, archive):
        if name.startswith(word) and (name != word or name[-1] != "="):
            yield name, text


def _words(line: str) -> list[str]:
    """Return the words of *line* as a shell parts them; a quotation may be open at its end."""
    for end in ("", "'", '"'):
        with suppress(ValueError):
            *words, last = shlex.split(f"{line}\0{end}")
            return [*words, last.removesuffix("\0")]
    return [""]


def _candidates(
    said: list[str], word: str, archive: Callable[[], Archive]
) -> Iterable[tuple[str, str]]:
    if not said or said[0] not in verbs():
        return [] if said else verbs().items()
    verb = _verb(said[0])
    names = {one.name: one for one in verb.below}
    one = names.get(" ".join(said[:2]), verb)
    options = {name: option for option in one.options for name in option.names}
    if (before := options.get(said[-1])) and before.value:
        return _values(before, said)
    if word.startswith("-"):
        return [(name, option.help) for name, option in options.items()]
    if one.below:
        return [(name.partition(" ")[2], below.help) for name, below in names.items()]
    if "PID" in one.syntax:
        return [(pid, "") for pid in islice(_pids(archive(), word), MOST_PIDS)]
    return [(name, "") for name in ARGUMENTS.get(one.name, ()) if len(said) == 1]


def _values(option: Option, said: list[str]) -> Iterable[tuple[str, str]]:
    """Yield the values of *option* that are known, with "=" behind a name."""
    if "-a" in option.names and said[0] == "crawl":
        spider = next((word for word in said if word in SPIDERS), "futli")
        return [(f"{name}=", HELPS[name] if spider == "futli" else "") for name in SPIDERS[spider]]
    if "-s" in option.names:
        return [(f"{name}=", f"now {value!r}") for name, value in KNOWN.items()]
    return [(value, "") for value in (*option.choices, *VALUES.get(option.names[0], ()))]


def _pids(archive: Archive, word: str) -> Iterator[str]:
    """Yield pids of *archive* that begin with *word*, of the first papers of their folder."""
    *above, last = word.split(":")
    root = archive.root / "warc"
    folder = root.joinpath(*above)
    narrow = bool(above) and ".." not in above and folder.is_dir()
    start = f"{folder}/{last}" if narrow else ""
    for path in islice(names_below(str(folder if narrow else root), lambda _: None), MOST_PAPERS):
        if path.startswith(start) and path.endswith(".warc"):
            with suppress(BadPid):
                pid = archive.pid_at(Path(path)).text
                if pid.startswith(word):
                    yield pid


_BASH = r"""# bash completion of lafka; made by: lafka completion bash
_lafka() {
  local line="${COMP_LINE:0:COMP_POINT}" one
  local word="${line##*[[:space:]]}"
  local before="${word%"${word##*[$COMP_WORDBREAKS]}"}"  # bash replaces what stands behind it
  COMPREPLY=()
  while IFS=$'\t' read -r one _; do
    [[ $word == *[\'\"]* ]] || printf -v one %q "$one"
    COMPREPLY+=("${one#"$before"}")
  done < <("$1" completion words <<< "$line" 2> /dev/null)
  [[ $COMPREPLY != *= ]] || compopt -o nospace 2> /dev/null
}
complete -o default -F _lafka lafka
"""
_ZSH = r"""#compdef lafka
# zsh completion of lafka; made by: lafka completion zsh
_lafka() {
  local line="${(j: :)words[1,CURRENT-1]} $PREFIX"
  local -a found=("${(@f)$($words[1] completion words <<< "$line" 2> /dev/null)}")
  found=(${found:#})
  (( $#found )) || { compset -P '*='; _files; return }
  local -a names=("${(@)found%%$'\t'*}") told=("${(@)found/$'\t'/  }") behind=()
  [[ $names[1] == *= ]] && behind=(-S '')
  compadd "${behind[@]}" -l -d told -- $names
}
if [[ $funcstack[1] == _lafka ]]; then _lafka "$@"; else compdef _lafka lafka; fi
"""
_FISH = r"""# fish completion of lafka; made by: lafka completion fish
function __lafka
    set -l found (commandline -cp | lafka completion words 2> /dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c lafka -f -n 'not string match -q "*=*" -- (commandline -ct)' -a '(__lafka)'
"""
SHELLS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
"""What each shell reads to complete ``lafka``: it asks ``lafka completion words``."""
VALUES: dict[str, Iterable[str]] = {"--group": Group, "--outcome": Outcome}
SPIDERS = {"futli": LIST_ARGUMENTS, "fobi": FOBI_ARGUMENTS, "fileset": FILESET_ARGUMENTS}
"""The arguments of each spider."""
ARGUMENTS = {"completion": (*SHELLS, "man"), "crawl": SPIDERS}
"""What a command's first argument may be."""
MOST_PIDS = 50
MOST_PAPERS = 50_000
"""How many files are looked at for pids, so that nobody waits."""


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
