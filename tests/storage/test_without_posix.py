"""Commands that read work where the system has no fcntl and no resource, as Windows has none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lafka.errors import NoLocks
from lafka.storage import steps
from lafka.storage.locks import lock_file
from tests.archec.stores import Home, template
from tests.stores import Store, pdf

PID = "RePEc:abc:wpaper:1"
WITHOUT = """
import sys
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty"):
    sys.modules[name] = None
from lafka.__main__ import main
sys.exit(main())
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("without")
    store = Store(folder / "archive")
    store.put(store.fut(pdf(PID), pid=PID, futli="http://x.example/1.pdf"))
    return folder


def called(folder: Path, *args: str) -> subprocess.CompletedProcess[bytes]:
    line = [sys.executable, "-c", WITHOUT, *args]
    return subprocess.run(line, cwd=folder, capture_output=True, check=False)


@pytest.mark.parametrize(
    "line",
    [
        ("fut", PID), ("futs",), ("suwaf", PID), ("verify",),
        ("warc", "ls", "archive/warc/RePEc/abc/wpaper/1.warc"),
        ("warc", "check", "archive/warc/RePEc/abc/wpaper/1.warc"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_reads_works(line: tuple[str, ...], store: Path) -> None:
    done = called(store, *line)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    if line[0] == "fut":
        assert done.stdout == pdf(PID)


def test_the_proof_of_an_obi_store_needs_no_locks(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.put({"abc/wpaper/1.rdf": template(1)})
    home.tobi()
    done = called(tmp_path, "archec", "check", "-s", f"LAFKA_OBJECT_STORE={home.archive}")
    assert (done.returncode, done.stdout) == (0, b""), done.stderr


def test_what_writes_says_in_a_sentence_that_it_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "fcntl", None)
    with pytest.raises(NoLocks, match=r"this system has no flock\(2\)"):
        lock_file(tmp_path / "1.warc", os.O_RDWR | os.O_CREAT)
