"""Plain Scrapy whose FilesPipeline stores the files of a Zenodo record, and verifies nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import scrapy
from scrapy.http import TextResponse


class RecordSpider(scrapy.Spider):
    name = "record"
    custom_settings: ClassVar[dict[str, Any]] = {
        "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1}
    }

    def __init__(self, path: str) -> None:
        super().__init__()
        self.start_urls = [path]

    def parse(self, response: TextResponse) -> Iterator[Any]:
        yield {"file_urls": [file["links"]["self"] for file in response.json()["files"]]}
