"""What a start imports: no extension that would only say that it is off."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from scrapy.extension import ExtensionManager
from scrapy.settings import Settings
from scrapy.utils.misc import load_object

from lafka.spiders.futli import FutliSpider
from lafka.spiders.road import OFF


def extensions(**given: Any) -> list[str]:
    settings = Settings()
    settings.setmodule("lafka.settings", priority="project")
    settings.update(given, priority="cmdline")
    FutliSpider.update_settings(settings)
    return ExtensionManager._get_mwlist_from_settings(settings)


def test_what_is_off_is_not_imported() -> None:
    found = extensions()
    assert not set(found) & set(OFF.values())
    assert "scrapy.extensions.closespider.CloseSpider" in found


START = """
import sys
from tests.crawls.test_extensions import extensions
extensions()
print(*sys.modules)
"""


def test_to_look_at_the_list_imports_nothing_that_is_off() -> None:
    done = subprocess.run([sys.executable, "-c", START], capture_output=True, check=True, text=True)
    imported = set(done.stdout.split())
    assert "scrapy.extensions.remote_control" not in imported
    assert not imported & {"aiohttp", "twisted.conch"}


@pytest.mark.parametrize("name", OFF)
def test_what_is_on_is_there(name: str) -> None:
    assert OFF[name] in extensions(**{name: True})
    assert load_object(OFF[name])


def test_an_extension_that_is_asked_for_stays() -> None:
    [path, _] = OFF.values()
    assert path in extensions(EXTENSIONS={path: 500})
