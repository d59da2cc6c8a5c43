"""Plain Scrapy that fetches what Lafka fetches, and stores nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import scrapy
from scrapy.http import Response


class BareSpider(scrapy.Spider):
    name = "bare"
    path: str

    async def start(self) -> AsyncIterator[Any]:
        for line in Path(self.path).read_text().splitlines():
            yield scrapy.Request(line.partition("\t")[2])

    def parse(self, response: Response) -> Iterator[Any]:
        yield response.follow(
            response.css("meta[name=citation_pdf_url]::attr(content)").get(), self.parse_pdf
        )

    def parse_pdf(self, response: Response) -> Iterator[Any]:
        assert response.body.startswith(b"%PDF-")
        yield {"url": response.url}
