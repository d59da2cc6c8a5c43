"""Names of before go on working, and say once what they are called now."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("old", "name", "new"),
    [
        ("lafka.archives", "Archive", "lafka.papers"),
        ("lafka.wire", "ExactDownloadHandler", "lafka.capture.handler"),
        ("lafka.wayback", "WarcDownloaderMiddleware", "lafka.capture.replay"),
    ],
)
def test_an_old_name_is_the_new_one_and_says_so_once(old: str, name: str, new: str) -> None:
    program = (
        f"from {old} import {name} as old\nimport {old}\nfrom {new} import {name} as new\n"
        "assert old is new"
    )
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"{old} is called {new} now") == 1
