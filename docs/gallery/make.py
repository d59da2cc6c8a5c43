"""Writes README.md of this folder: what a terminal shows of real runs over the demo's site.

    python docs/gallery/make.py

Nothing leaves loopback. The live line is the last that the terminal had while the crawl went on.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from lafka.cli.demo.site import list_of, serving  # noqa: E402  after the path
from lafka.runs.terminals import ERASE  # noqa: E402

WRONG = (
    "RePEc:abc:wpaper:1  https://example.org/1.pdf\n"
    "https://example.org/2.pdf\tRePEc:abc:wpaper:2\n"
    "RePEc:abc:wpaper:3\twww.example.org/3.pdf\n"
    "RePEc:abc:wpaper:4;https://example.org/4.pdf\n"
    "RePEc:abc:wpaper:5\t10.1000/182\n"
)
CRAWL = "lafka crawl futli -a input=list.tsv"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="lafka-gallery-") as name, serving() as site:
        folder = Path(name).resolve()
        (folder / "list.tsv").write_text(list_of(site), "utf-8")
        (folder / "wrong.tsv").write_text(WRONG, "utf-8")
        pictures = [
            ("A list that is wrong", *_shot("lafka check-list wrong.tsv", folder)),
            ("A crawl", *_shot(CRAWL, folder, DOWNLOAD_DELAY="0.7")),
            ("The same list again", *_shot(CRAWL, folder)),
            ("The PDFs", *_shot("lafka fut --all --into pdfs", folder)),
            ("What is not there", *_shot("lafka outcomes --group 'not there' --csv", folder)),
        ]
    (HERE / "README.md").write_text(_page(pictures), "utf-8")


def _shot(line: str, folder: Path, **settings: str) -> tuple[str, str, str]:
    """The command *line*, its live line, what it leaves on the terminal."""
    given = "".join(f" -s {name}={value}" for name, value in settings.items())
    said = _on_a_terminal(line + given, folder).replace("\r\n", "\n")
    said = said.replace(f"{folder}/", "~/lists/")
    lives = [
        found for found in re.findall(rf"{re.escape(ERASE)}([^\n\r]+)", said) if " | " in found
    ]
    lines = [part.rpartition(ERASE)[2].rstrip() for part in said.split("\n")]
    return line, lives[-1] if lives else "", "\n".join(lines).strip("\n")


def _on_a_terminal(line: str, folder: Path) -> str:
    ours, theirs = pty.openpty()
    env = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm",
        "LAFKA_ALLOWED_NETWORKS": "127.0.0.0/8",
        "LAFKA_CONTACT": "you@example.org",
    }
    program = line.replace("lafka ", f"{sys.executable} -m lafka ", 1)
    with subprocess.Popen(  # noqa: S603
        ["/bin/sh", "-c", program], cwd=folder, env=env, stdin=subprocess.DEVNULL,
        stdout=theirs, stderr=theirs,
    ) as going:  # fmt: skip
        os.close(theirs)
        said = b""
        while True:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:  # nobody has the other end any more
                break
            if not piece:
                break
            said += piece
        going.wait()
    os.close(ours)
    return said.decode("utf-8", "replace")


def _page(pictures: list[tuple[str, str, str, str]]) -> str:
    parts = ["# Gallery\n\nWhat a terminal shows, of real runs; `docs/gallery/make.py` made it."]
    for title, line, live, shown in pictures:
        parts.append(f"## {title}\n\n```\n$ {line}\n{shown}\n```")
        if live:
            parts.append(f"While it went on, in the last line:\n\n```\n{live}\n```")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
