"""Fuzz every target for a while: ``python tests/fuzz/run.py --seconds 60`` and it ends by itself.

The seconds are shared out among the targets, each in a process of its own, with bounds on memory
and on the time of one input. Exit code 0: nothing found, or atheris is not there to look; 1: an
input that breaks a target; it is kept in ``--found`` and belongs into ``corpus/`` once mended.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORPUS = Path(__file__).parent / "corpus"
BOUNDS = ("-rss_limit_mb=1024", "-malloc_limit_mb=512", "-timeout=20", "-max_len=65536")


def main() -> int:
    sys.path.insert(0, str(ROOT))
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60, help="in all, for all targets")
    parser.add_argument("--target", action="append", help="this one only; may be repeated")
    parser.add_argument("--found", type=Path, default=Path("fuzz-found"), help="where inputs go")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args, rest = parser.parse_known_args()
    if not find_spec("atheris"):
        print("fuzzing skipped: atheris is not installed")
        return 0
    if args.one:
        return _fuzz(args.one, rest)
    from tests.fuzz.targets import TARGETS

    names = args.target or list(TARGETS)
    unknown = [name for name in names if name not in TARGETS]
    if unknown:
        parser.error(f"no target {unknown[0]!r}; there are {', '.join(TARGETS)}")
    share = max(1, round(args.seconds / len(names)))
    return max([_started(name, share, args.found) for name in names])


def _started(name: str, seconds: int, found: Path) -> int:
    """Fuzz *name* in its own process; 1 where something was found."""
    found.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as grown:
        seeds = [str(folder) for folder in [CORPUS / name] if folder.is_dir()]
        done = subprocess.run(
            [
                *(sys.executable, __file__, "--one", name),
                *(f"-max_total_time={seconds}", *BOUNDS, f"-artifact_prefix={found}/{name}-"),
                *(grown, *seeds),
            ],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    runs = [line for line in done.stderr.splitlines() if line.startswith("Done ")]
    if done.returncode == 0:
        print(f"{name}: {''.join(runs) or 'nothing found'}")
        return 0
    print(f"{name}: FOUND something, exit code {done.returncode}")
    told = [line for line in done.stderr.splitlines() if not line.startswith(("#", "0x"))]
    print("\n".join([*done.stdout.splitlines()[-30:], *told[-8:]]))
    return 1


def _fuzz(name: str, flags: list[str]) -> int:
    import atheris

    with atheris.instrument_imports(include=["lafka.warc", "lafka.archec"]):
        from tests.fuzz.targets import TARGETS
    atheris.Setup([sys.argv[0], *flags], TARGETS[name])
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
