"""Who installed no extra has every command, but for what the extra is there for."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions

from tests.crawls.running import ROOT

BY_OTHERS = """
import sys
from importlib.abc import MetaPathFinder

class Nothing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

MISSING = set(sys.argv[1:])
sys.meta_path.insert(0, Nothing())
from lafka.cli.verbs import VERBS, made
for verb in VERBS:
    made(verb)
from scrapy.utils.misc import load_object
from lafka import settings
for path in settings.EXTENSIONS:  # Scrapy's shell and spiders of others load each, off or not
    load_object(path)
print(len(VERBS))
"""
"""Makes every command where the packages of its arguments cannot be imported."""


def extras() -> set[str]:
    """Return the import names of the packages that the extras of ``lafka`` install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = {
        re.split(r"[^\w.-]", requirement)[0].lower()
        for extra in project["optional-dependencies"].values()
        for requirement in extra
    }
    named = packages_distributions().items()
    return {
        name
        for name, owners in named
        if asked & {owner.lower().replace("_", "-") for owner in owners}
    }


def test_no_command_needs_an_extra_to_be_made() -> None:
    missing = extras()
    assert {"starlette", "uvicorn", "pypdfium2", "confluent_kafka", "prometheus_client"} <= missing
    done = subprocess.run(
        [sys.executable, "-c", BY_OTHERS, *missing],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 30
