"""Completions and man page are made from the commands; shells that are here try them."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

import lafka
from lafka.cli import words as cli_words
from lafka.cli.completion import all_verbs, all_words, manual
from lafka.cli.running import verbs
from lafka.cli.warc import VERBS
from lafka.cli.words import SHELLS, completed, script
from lafka.papers.archive.archives import Archive
from lafka.papers.crawling.arguments import ARGUMENTS
from tests.starts import Shell
from tests.stores import Store, pdf

ROOT = Path(__file__).parents[2]
WORDS = all_words()


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion")
    for shell in SHELLS:
        (folder / shell).write_text(script(shell, WORDS))
    return folder


def test_each_command_is_completed_with_its_options() -> None:
    found = {verb.name: verb for verb in all_verbs()}
    assert list(found) == list(verbs())
    names = {name for option in found["fut"].options for name in option.names}
    assert {"--into", "--all", "-o", "--output", "-s", "-h"} <= names
    assert [verb.name for verb in found["warc"].below] == [f"warc {name}" for name in VERBS]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_that_is_here_takes_the_script(shell: str, scripts: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} here")
    done = subprocess.run([program, "-n", scripts / shell], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """With four papers."""
    store = Store(tmp_path_factory.mktemp("completed"))
    for pid in PIDS:
        store.put(store.fut(pdf(pid), pid=pid))
    store.raw.close()
    return store.archive


PIDS = [*(f"RePEc:abc:wpaper:{number}" for number in (1, 2, 10)), "RePEc:dem:wpaper:1"]
COMPLETED = {
    "lafka fu": "fut futlis futs",
    "lafka fut --in": "--into",
    "lafka warc cdx": "cdx cdxj",
    "lafka warc cdxj --fo": "--folder",
    "lafka archec re": "report recover rebuild",
    "lafka crawl f": "futli fobi fileset",
    "lafka crawl futli -a in": "input=",
    "lafka crawl fobi -a input=x -a d": "due=",
    "lafka crawl futli -s LAFKA_ARCH": "LAFKA_ARCHIVE=",
    "lafka finders --by h": "host",
    "lafka outcomes --outcome log": "login",
    "lafka outcomes --group 'not": "not there",
    "lafka fut RePEc:abc:wpaper:1": "RePEc:abc:wpaper:1 RePEc:abc:wpaper:10",
    "lafka verify RePEc:d": "RePEc:dem:wpaper:1",
    "lafka suwaf ": " ".join(PIDS),
}


def words(line: str, archive: Archive) -> list[str]:
    return [word for word, _ in completed(line, WORDS, lambda: archive)]


@pytest.mark.parametrize("typed", COMPLETED)
def test_what_is_typed_is_completed(typed: str, archive: Archive) -> None:
    assert sorted(words(typed, archive)) == sorted(words_of(COMPLETED[typed]))


def words_of(text: str) -> list[str]:
    return [text] if text == "not there" else text.split()


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "lafka",
        "lafka nosuch ",
        "lafka wacz -o ",
        "lafka crawl futli -a input=",
        "lafka fut ../",
    ],
)
def test_names_of_files_are_left_to_the_shell(typed: str, archive: Archive) -> None:
    assert words(typed, archive) == (list(verbs()) if typed == "" else [])


def test_many_pids_are_cut(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_words, "MOST_PIDS", 2)
    assert words("lafka fut ", archive) == PIDS[:1] + PIDS[2:3]
    monkeypatch.setattr(cli_words, "MOST_PAPERS", 1)
    assert words("lafka fut ", archive) == PIDS[:1]


ASKED = {
    "bash": """source {script}; COMP_LINE={line}; COMP_POINT=${{#COMP_LINE}}
COMP_WORDBREAKS={breaks}; _lafka lafka; printf '%s\\n' "${{COMPREPLY[@]}}" """,
    "zsh": """compdef() {{ }}; _files() {{ }}
compadd() {{ while [[ $1 != -- ]]; do shift; done; shift; print -rl -- "$@" }}
source {script}; words=({words}); CURRENT=$#words; PREFIX=$words[-1]; _lafka""",
    "fish": "source {script}; complete -C {line}",
}
"""How a script shows what it would offer; zsh without its line editor."""


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "typed", [typed for typed in COMPLETED if "'" not in typed and not typed.endswith(" ")]
)
def test_a_shell_completes(
    shell: str, typed: str, scripts: Path, archive: Archive, programs: Path
) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} here")
    script = ASKED[shell].format(
        script=scripts / shell, line=shlex.quote(typed), words=typed, breaks="$' \\t\\n=:'"
    )
    done = Shell(archive.root.parent, (programs,), {"LAFKA_ARCHIVE": str(archive.root)})(
        f"{program} -c {shlex.quote(script)}"
    )
    found = [line.partition("\t")[0] for line in done.stdout.splitlines()]
    before = typed.rpartition(" ")[2].rpartition(":")[0]
    if shell == "bash" and before:
        found = [f"{before}:{word}" for word in found]
    assert (done.stderr, sorted(found)) == ("", sorted(words_of(COMPLETED[typed])))


def test_the_man_page_is_that_of_the_commands() -> None:
    page = (ROOT / "docs" / "lafka.1").read_text("utf-8")
    assert page == manual(lafka.__version__), "lafka completion man > docs/lafka.1"


def test_the_man_page_can_be_set() -> None:
    program = shutil.which("mandoc") or shutil.which("groff")
    if program is None:
        pytest.skip("nothing here sets man pages")
    lint = (
        ["-Tlint", "-Wwarning"] if program.endswith("mandoc") else ["-man", "-Tascii", "-ww", "-z"]
    )
    page = ROOT / "docs" / "lafka.1"
    done = subprocess.run([program, *lint, page], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_the_help_of_crawl_lists_the_arguments_of_the_spider() -> None:
    (crawl,) = [verb for verb in all_verbs() if verb.name == "crawl"]
    (told,) = [option.help for option in crawl.options if "-a" in option.names]
    assert all(f"{name}=" in told for name in ARGUMENTS)
