"""Plain Scrapy whose FilesPipeline stores the futs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, ClassVar

import scrapy
from scrapy.http import Response


class FilesSpider(scrapy.Spider):
    name = "files"
    path: str
    custom_settings: ClassVar[dict[str, Any]] = {
        "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1}
    }

    async def start(self) -> AsyncIterator[Any]:
        for line in Path(self.path).read_text().splitlines():
            yield scrapy.Request(line.partition("\t")[2])

    def parse(self, response: Response) -> Iterator[Any]:
        url = response.css("meta[name=citation_pdf_url]::attr(content)").get()
        yield _Counted(file_urls=[response.urljoin(url or "")])


class _Counted(dict[str, Any]):
    """An item that is short in the log."""

    def __repr__(self) -> str:
        return f"<{len(self['file_urls'])} files>"
