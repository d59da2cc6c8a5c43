"""What a start imports: no extension that would only say that it is off."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy.settings import Settings
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object

from lafka.spiders.futli import FutliSpider
from lafka.spiders.road import OFF


def extensions(**given: Any) -> list[str]:
    settings = Settings()
    settings.setmodule("lafka.settings", priority="project")
    settings.update(given, priority="cmdline")
    FutliSpider.update_settings(settings)
    return build_component_list(settings.getwithbase("EXTENSIONS"))


def test_what_is_off_is_not_imported() -> None:
    found = extensions()
    assert not set(found) & set(OFF.values())
    assert "scrapy.extensions.closespider.CloseSpider" in found


@pytest.mark.parametrize("name", OFF)
def test_what_is_on_is_there(name: str) -> None:
    assert OFF[name] in extensions(**{name: True})
    assert load_object(OFF[name])


def test_an_extension_that_is_asked_for_stays() -> None:
    [path, _] = OFF.values()
    assert path in extensions(EXTENSIONS={path: 500})
