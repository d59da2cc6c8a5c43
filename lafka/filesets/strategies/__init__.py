"""Strategies: how the files of a fileset are archived and verified, and as what they are told."""

from __future__ import annotations

from lafka.filesets.model.types import IngestStrategy
from lafka.filesets.strategies.bundled import (
    ArchiveorgFilesetBundledStrategy,
    WebFilesetBundledStrategy,
)
from lafka.filesets.strategies.strategy import (
    ArchiveorgFilesetStrategy,
    ArchiveorgFileStrategy,
    FilesetIngestStrategy,
    WebFilesetStrategy,
    WebFileStrategy,
)

STRATEGIES: dict[IngestStrategy, type[FilesetIngestStrategy]] = {
    made.ingest_strategy: made
    for made in (
        WebFileStrategy,
        WebFilesetStrategy,
        WebFilesetBundledStrategy,
        ArchiveorgFileStrategy,
        ArchiveorgFilesetStrategy,
        ArchiveorgFilesetBundledStrategy,
    )
}
