"""Commands that read work where the system has no fcntl and no resource, as Windows has none."""

from __future__ import annotations

import json
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
import contextlib, io, json, os, sys
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty"):
    sys.modules[name] = None
from lafka.__main__ import main
for folder, line in json.loads(sys.argv[1]):
    os.chdir(folder)
    sys.argv[1:] = line
    out = io.TextIOWrapper(io.BytesIO(), "latin-1")
    with contextlib.redirect_stdout(out):
        code = main()
    out.flush()
    print(json.dumps([code, out.buffer.getvalue().decode("latin-1")]))
"""
LINES = [
    ("fut", PID), ("futs",), ("suwaf", PID), ("verify",),
    ("warc", "ls", "archive/warc/RePEc/abc/wpaper/1.warc"),
    ("warc", "check", "archive/warc/RePEc/abc/wpaper/1.warc"),
]  # fmt: skip


def test_what_reads_works(tmp_path: Path) -> None:
    """So does the proof of an obi store, which needs no locks."""
    store, home = Store(tmp_path / "archive"), Home(tmp_path / "obis")
    store.put(store.fut(pdf(PID), pid=PID, futli="http://x.example/1.pdf"))
    home.put({"abc/wpaper/1.rdf": template(1)})
    home.tobi()
    proof = ("archec", "check", "-s", f"LAFKA_OBJECT_STORE={home.archive}")
    asked = json.dumps([(str(tmp_path), line) for line in (*LINES, proof)])
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, asked], capture_output=True, text=True, check=False
    )
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [code for code, _ in told] == [0] * (len(LINES) + 1), done.stderr
    assert told[0][1].encode("latin-1") == pdf(PID)
    assert told[-1][1] == ""


def test_what_writes_says_in_a_sentence_that_it_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "fcntl", None)
    with pytest.raises(NoLocks, match=r"this system has no flock\(2\)"):
        lock_file(tmp_path / "1.warc", os.O_RDWR | os.O_CREAT)
