"""Completions and man page are made from the commands; shells that are here try them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import lafka
from lafka.cli.completion import SHELLS, all_verbs, completion, manual
from lafka.cli.running import verbs
from lafka.cli.warc import VERBS
from lafka.papers.crawling.arguments import ARGUMENTS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion")
    for shell in SHELLS:
        (folder / shell).write_text(completion(shell))
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


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("lafka fu", "fut futlis futs"),
        ("lafka fut --in", "--into"),
        ("lafka warc cdx", "cdx cdxj"),
        ("lafka warc cdxj --fo", "--folder"),
        ("lafka archec re", "report recover rebuild"),
    ],
)
def test_bash_completes(typed: str, found: str, scripts: Path) -> None:
    program = shutil.which("bash")
    if program is None:
        pytest.skip("no bash here")
    words = typed.split()
    given = " ".join(f"'{word}'" for word in words)
    script = (
        f'source "{scripts / "bash"}"; COMP_WORDS=({given}); COMP_CWORD={len(words) - 1};'
        ' _lafka; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run([program, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stderr, done.stdout.strip()) == ("", found)


def test_fish_completes(scripts: Path) -> None:
    program = shutil.which("fish")
    if program is None:
        pytest.skip("no fish here")
    script = f"source {scripts / 'fish'}; complete -C 'lafka fut --in'"
    done = subprocess.run([program, "-c", script], capture_output=True, text=True, check=False)
    assert "--into" in done.stdout


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
