"""The lines of docs/how-to/thirty-million-files.md: a backup, and a store that moves."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lafka.archec.checking import check_store
from tests import starts
from tests.archec.fobis import gather
from tests.archec.stores import DAY, START, Home, objects, template
from tests.sites.gateways import ROOT
from tests.stores import pdf

PAGE = ROOT / "docs" / "how-to" / "thirty-million-files.md"
URL = "http://x.example/abc/1.pdf"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    found = Home(tmp_path / "srv" / "archec")
    found.put({"abc/wpaper/1.rdf": template(1)})
    found.tobi()
    gather(found, START + 2 * DAY, {URL: pdf("a")})
    return found


def lines(verb: str) -> list[str]:
    """The commands of the page that begin with *verb*, joined where they go on."""
    text = PAGE.read_text().replace("\\\n", " ")
    return re.findall(rf"(?m)^{verb} .*", text)


def rebuilt(store: Path) -> None:
    for verb in ("rebuild", "check"):
        done = starts.verb(
            "lafka", "archec", verb, "-s", f"LAFKA_OBJECT_STORE={store}", folder=store.parent
        )
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert list(check_store(store)) == []


@pytest.mark.skipif(shutil.which("rsync") is None, reason="rsync is not on this machine")
def test_a_backup_by_rsync_is_a_store_and_grows(home: Home, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    backup.mkdir()
    commands = [
        line.replace("backup:/srv/archec/archive", str(backup)).replace(
            "/srv/archec/archive", str(home.archive)
        )
        for line in lines("rsync")
    ]
    assert len(commands) == 2
    for change in ("B", "C"):
        for command in commands:
            subprocess.run(["bash", "-c", command], check=True)
        assert objects(backup) == objects(home.archive)
        assert change == "C" or not (backup / "records.sqlite").exists()
        rebuilt(backup)
        home.put({"abc/wpaper/1.rdf": template(1, title=change)})
        home.tobi()
        gather(home, home.now + DAY, {URL: pdf(change)})


def test_a_store_moves_by_tar(home: Home, tmp_path: Path) -> None:
    gather(home, START + 5 * DAY, {"http://x.example/b.pdf": pdf("a")})  # held: a link
    new = tmp_path / "new"
    new.mkdir()
    [line] = re.findall(r"`(tar -C [^`]*)`", " ".join(PAGE.read_text().split()))
    command = line.replace("ssh new ", "").replace("-C /srv/archec -x", f"-C {new} -x")
    command = command.replace("-C /srv/archec -c", f"-C {home.root} -c")
    subprocess.run(["bash", "-c", command], check=True)
    shutil.rmtree(home.archive)
    assert any(isinstance(one, str) for one in objects(new / "archive").values())
    rebuilt(new / "archive")
