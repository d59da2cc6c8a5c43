"""What the report tells of settings and machine."""

from __future__ import annotations

import json

from scrapy.settings import Settings

from lafka import settings as ours
from lafka.runs.reporting import peak_memory, settings_told, versions


def test_only_settings_that_differ_are_told_and_no_secret() -> None:
    settings = Settings()
    settings.setmodule(ours)
    assert settings_told(settings) == {}
    given = {
        "LAFKA_LINKS_MAX": "7",
        "LAFKA_ALLOWED_NETWORKS": ["127.0.0.0/8"],
        "RETRY_TIMES": 2,  # as Scrapy has it
        "FTP_PASSWORD": "hunter2",
        "AWS_SECRET_ACCESS_KEY": "hunter2",
        "MY_TOKEN": "hunter2",
        "LAFKA_CONTACT": "https://me:hunter2@x.example/about",
        "FEEDS": {"s3://me:hunter2@x/": {"format": "csv"}},
        "MY_PARTS": {"a": ["http://me:hunter2@x.example/", object, None, 1.5]},
        "USER_AGENT": "Lafka\r\nX: \x1b[31m",
    }
    settings.setdict(given, "cmdline")
    told = settings_told(settings)
    assert "hunter2" not in json.dumps(told)
    assert told.keys() == given.keys() - {"RETRY_TIMES", "FEEDS"}
    assert told["LAFKA_LINKS_MAX"] == "7"
    assert told["FTP_PASSWORD"] == told["MY_TOKEN"] == "[removed]"
    assert told["LAFKA_CONTACT"] == "https://x.example/about"
    assert str(told["USER_AGENT"]).isprintable()


def test_versions_and_memory_are_those_of_this_process() -> None:
    assert {"lafka", "python", "system", "Scrapy"} <= versions().keys()
    held = bytearray(50_000_000)
    assert peak_memory() > len(held)
