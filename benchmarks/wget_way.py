"""One wget a URL, one paper after the other, as the first Lafka (in Perl) worked.

python benchmarks/wget_way.py LIST FOLDER
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urljoin

PDF_URL = re.compile(rb'<meta name="citation_pdf_url" content="([^"]+)"')


def main(path: Path, folder: Path) -> None:
    folder.mkdir()
    for line in path.read_text().splitlines():
        pid, _, futli = line.partition("\t")
        splap = capture(pid, futli, futli, folder)
        found = PDF_URL.search(splap)
        assert found
        fut = capture(pid, futli, urljoin(futli, found[1].decode()), folder)
        with (folder / f"{pid.replace(':', '_')}.warc").open("ab") as paper:
            paper.write(splap + fut)


def capture(pid: str, futli: str, url: str, folder: Path) -> bytes:
    """The WARC that wget makes of *url*."""
    name = folder / "capture"
    command = [
        "wget", "-q", "--warc-file", str(name), "--no-warc-compression", "--no-warc-keep-log",
        "-O", "/dev/null", "--tries=1", "--warc-header", f"Paper-Id: {pid}",
        "--warc-header", f"Futli: {futli}", url,
    ]  # fmt: skip
    subprocess.run(command, check=True)
    warc = name.with_suffix(".warc")
    data = warc.read_bytes()
    warc.unlink()
    return data


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
