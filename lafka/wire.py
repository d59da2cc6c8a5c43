"""The name that ``lafka.capture.handler`` had before: settings that say it go on working."""

import warnings

from scrapy.exceptions import ScrapyDeprecationWarning

from lafka.capture.handler import ExactDownloadHandler

__all__ = ["ExactDownloadHandler"]

warnings.warn(
    "lafka.wire is called lafka.capture.handler now: DOWNLOAD_HANDLERS should name"
    " lafka.capture.handler.ExactDownloadHandler",
    ScrapyDeprecationWarning,
    stacklevel=2,
)
