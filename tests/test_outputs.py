"""Each command's ``-o``, by what it names: a file, a link, a pipe, a device, a folder, ``-``."""

from __future__ import annotations

import gzip
import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.starts import Shell
from tests.stores import FUTLI, PID, Store, pdf, run_named

COMMANDS = {
    "fut": f"lafka fut {PID} -o {{0}}",
    "futs": "lafka futs -o {0}",
    "futs --csv": "lafka futs --csv -o {0}",
    "outcomes": "lafka outcomes -o {0}",
    "wacz": f"lafka wacz {PID} -o {{0}}",
    "report": "lafka report -o {0}",
    "futlis": "lafka futlis redif -o {0}",
}
TABLES = {
    "futs --sqlite": "lafka futs --sqlite {0}",
    "outcomes --sqlite": "lafka outcomes --sqlite {0}",
    "futs --parquet": "lafka futs --parquet {0}",
}
EVERY = COMMANDS | TABLES
TEMPLATE = """Template-Type: ReDIF-Paper 1.0
Title: One
File-URL: http://x.example/1.pdf
Handle: RePEc:abc:wpaper:1
"""


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory, programs: Path) -> Shell:
    folder = tmp_path_factory.mktemp("outputs")
    store = Store(folder / "archive")
    store.put(store.fut(pdf("one")))
    store.die()
    line = {"pid": PID, "futli": FUTLI, "outcome": "not-found", "time": "2026-11-20T10:11:12Z"}
    feed = store.root / "runs" / f"{run_named('2')}.jsonl"
    feed.write_text(json.dumps(line) + "\n")
    (folder / "redif" / "abc").mkdir(parents=True)
    (folder / "redif" / "abc" / "one.rdf").write_text(TEMPLATE)
    return Shell(folder=folder, bins=(programs,))


def done(shell: Shell, verb: str, output: Path | str) -> subprocess.CompletedProcess[str]:
    return shell(EVERY[verb].format(output))


@pytest.mark.parametrize("verb", EVERY)
def test_a_link_stays_and_the_file_behind_it_is_written(
    shell: Shell, tmp_path: Path, verb: str
) -> None:
    path, link = tmp_path / "x.json", tmp_path / "link.json"
    link.symlink_to(path)
    told = done(shell, verb, link)
    assert told.returncode == 0, told.stderr
    assert link.is_symlink()
    assert path.stat().st_size


@pytest.mark.parametrize("verb", EVERY)
def test_a_folder_is_refused(shell: Shell, tmp_path: Path, verb: str) -> None:
    folder = tmp_path / "x.json"
    folder.mkdir()
    told = done(shell, verb, folder)
    assert told.returncode == 2
    assert f"{folder}: a folder; name a file in it" in told.stderr
    assert not [*folder.iterdir()]


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_pipe_is_written_into(shell: Shell, tmp_path: Path, verb: str) -> None:
    pipe = tmp_path / "x.json"
    os.mkfifo(pipe)
    told = shell(
        f"cat {pipe} > {tmp_path}/got & {COMMANDS[verb].format(pipe)}; c=$?; wait; exit $c"
    )
    assert told.returncode == 0, told.stderr
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert (tmp_path / "got").stat().st_size


@pytest.mark.parametrize("verb", ["futs", "futs --csv", "outcomes", "report", "futlis"])
def test_a_name_in_gz_is_gzipped(shell: Shell, tmp_path: Path, verb: str) -> None:
    plain, packed = tmp_path / "x.json", tmp_path / "x.json.gz"
    for path in (plain, packed):
        told = done(shell, verb, path)
        assert told.returncode == 0, told.stderr
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()


@pytest.mark.parametrize("verb", ["fut", "wacz", *TABLES])
def test_what_has_a_form_of_its_own_is_never_gzipped(
    shell: Shell, tmp_path: Path, verb: str
) -> None:
    path = tmp_path / "x.gz"
    told = done(shell, verb, path)
    assert told.returncode == 2
    assert "is not gzipped, name it without .gz" in told.stderr
    assert not path.exists()


@pytest.mark.parametrize("verb", TABLES)
def test_a_table_is_not_written_into_a_pipe(shell: Shell, tmp_path: Path, verb: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    told = done(shell, verb, pipe)
    assert told.returncode == 2
    assert f"{pipe}: not a file" in told.stderr
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_hyphen_is_standard_output(shell: Shell, verb: str) -> None:
    told = shell(f"{COMMANDS[verb].format('-')} | wc -c")
    assert int(told.stdout) > 0, told.stderr
    assert not (shell.folder / "-").exists()


def test_a_report_is_text_where_no_name_tells_its_form(shell: Shell) -> None:
    told = [shell(f"lafka report {to}").stdout for to in ("", "-o -", "-o /dev/stdout")]
    assert told[0].startswith("Of 1 link that once led to a full text")
    assert told == [told[0]] * 3
    assert shell("lafka report -o /dev/null").returncode == 0
    assert "x.pdf: ends with none of .html" in shell("lafka report -o x.pdf").stderr


@pytest.mark.parametrize("output", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_what_is_appended_to_stays(shell: Shell, tmp_path: Path, output: str) -> None:
    path = tmp_path / "all.jsonl"
    path.write_text("before\n")
    told = shell(f"{COMMANDS['futs'].format(output)} >> {path}")
    assert told.returncode == 0, told.stderr
    first, *rest = path.read_text().splitlines()
    assert (first, len(rest)) == ("before", 1)
