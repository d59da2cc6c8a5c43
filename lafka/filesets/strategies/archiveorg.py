"""Into an item that could be uploaded to archive.org as it is."""

from __future__ import annotations

from lafka.filesets.model.types import IngestStrategy
from lafka.filesets.strategies.strategy import FilesetIngestStrategy


class ArchiveorgFileStrategy(FilesetIngestStrategy):
    """A single file of any type, told as a ``file``."""

    ingest_strategy = IngestStrategy.ARCHIVEORG_FILE


class ArchiveorgFilesetStrategy(FilesetIngestStrategy):
    """Files of any type, told as a ``fileset``."""

    ingest_strategy = IngestStrategy.ARCHIVEORG_FILESET
