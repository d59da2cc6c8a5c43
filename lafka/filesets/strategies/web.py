"""Into the fileset WARC, one capture a file."""

from __future__ import annotations

from lafka.filesets.model.types import IngestStrategy
from lafka.filesets.strategies.strategy import FilesetIngestStrategy


class WebFileStrategy(FilesetIngestStrategy):
    """A single file of any type, told as a ``file``."""

    ingest_strategy = IngestStrategy.WEB_FILE


class WebFilesetStrategy(FilesetIngestStrategy):
    """Files of any type, told as a ``fileset``."""

    ingest_strategy = IngestStrategy.WEB_FILESET
