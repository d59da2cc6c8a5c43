"""ReDIF, the format of RePEc's templates (version 1), read as it is found.

    for template in redif.read(data):
        template.handle, template.first("Title"), template.files()

Depends on nothing but handles and URIs: no Scrapy, no file, no socket. The rules, and the codes
of what is told as odd, are in docs/redif.md.
"""

from lafka.archec.redif.reading import MOST_PROBLEMS, TemplateReader, read
from lafka.archec.redif.splitting import (
    LONGEST_TEMPLATE,
    Decoded,
    Readable,
    decoded,
    with_line_feeds,
)
from lafka.archec.redif.templates import Cluster, Field, File, Restrictions, Template, uris_of
from lafka.archec.redif.vocabulary import ITEMS, TYPES

__all__ = [
    "ITEMS",
    "LONGEST_TEMPLATE",
    "MOST_PROBLEMS",
    "TYPES",
    "Cluster",
    "Decoded",
    "Field",
    "File",
    "Readable",
    "Restrictions",
    "Template",
    "TemplateReader",
    "decoded",
    "read",
    "uris_of",
    "with_line_feeds",
]
