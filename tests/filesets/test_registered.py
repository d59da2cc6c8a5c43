"""Platforms of other packages: registered by an entry point, without a change of Lafka."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from lafka.errors import BadArgument
from lafka.filesets.model.asks import Resource
from lafka.filesets.model.messages import IngestRequest
from lafka.filesets.model.pages import HtmlBiblio
from lafka.filesets.platforms import helpers, matches, registered
from tests.filesets.driving import driven

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "add-a-fileset-platform.md"


class Installed:
    """A folder of installed packages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def package(self, name: str, code: str, value: str) -> None:
        """Install the package *name* of one module, whose entry point is *value*."""
        (self.folder / f"{name}.py").write_text(code)
        about = self.folder / f"{name}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[lafka.platforms]\n{name} = {value}\n")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installed]:
    monkeypatch.syspath_prepend(str(tmp_path))
    registered.cache_clear()
    yield Installed(tmp_path)
    registered.cache_clear()
    for name in ("lafka_osf", "lafka_other"):
        sys.modules.pop(name, None)


def recipe() -> tuple[str, str]:
    """The module and the entry point that the guide shows."""
    text = GUIDE.read_text().partition("## In a package of your own")[2]
    blocks = re.findall(r"(?:^(?:    .*)?\n)+", text, re.MULTILINE)
    [code] = (dedent(block) for block in blocks if "class OsfHelper" in block)
    found = re.search(r'\[project.entry-points."lafka.platforms"\]\n *osf = "(.+)"', text)
    assert found is not None
    return code, found[1]


def test_the_platform_of_the_recipe_is_asked_before_the_web(installed: Installed) -> None:
    code, value = recipe()
    installed.package("lafka_osf", code, value)
    names = [one.platform_name for one in helpers()]
    assert names[-2:] == ["osf", "web"]
    [helper] = helpers(names=["osf"])
    url, api = "https://osf.io/ab12c/", "https://api.osf.io/v2/nodes/ab12c/files/osfstorage/"
    row = {
        "attributes": {"name": "a.csv", "size": 4, "extra": {"hashes": {"sha256": "0" * 64}}},
        "links": {"download": "https://osf.io/download/1/"},
    }
    request, resource = IngestRequest.of_url(url), Resource(url=url)
    assert next(matches(helpers(), request, resource, HtmlBiblio())).platform_name == "osf"
    steps = helper.process_request(request, resource, HtmlBiblio())
    item, _ = driven(steps, {api: {"json": {"data": [row]}}})
    assert [(file.path, file.size) for file in item.manifest] == [("a.csv", 4)]
    assert item.fileset_id == "fileset:osf:osf.io:ab12c"


@pytest.mark.parametrize(
    ("code", "value", "sentence"),
    [
        ("import no_such_module", "lafka_other:X", "cannot be imported: No module named"),
        ("X = 1", "lafka_other:X", "is no FilesetPlatformHelper"),
        ("X = 1", "lafka_other:Y", "cannot be imported"),
        ("from lafka.filesets.platforms.zenodo import ZenodoHelper as X", "lafka_other:X",
         "has the name 'zenodo', which is taken"),
    ],
)  # fmt: skip
def test_what_is_no_platform_is_refused_in_a_sentence(
    installed: Installed, code: str, value: str, sentence: str
) -> None:
    installed.package("lafka_other", code, value)
    with pytest.raises(BadArgument, match=f"^the platform {re.escape(value)} .*{sentence}"):
        helpers()
