"""Strategies: how the files of a fileset are archived and verified, and as what they are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from lafka.filesets.model.types import IngestStrategy
from lafka.filesets.strategies.bundled import BundledStrategy
from lafka.filesets.strategies.strategy import FilesetIngestStrategy

STRATEGIES: Mapping[IngestStrategy, Callable[..., FilesetIngestStrategy]] = {
    strategy: partial(BundledStrategy if strategy.is_bundled else FilesetIngestStrategy, strategy)
    for strategy in IngestStrategy
}
"""Make a strategy of what is held, limits, and ``anew``."""
