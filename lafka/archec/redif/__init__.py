"""ReDIF, the format of RePEc's templates (version 1), read as it is found.

    for template in redif.read(data):
        template.handle, template.first("Title"), template.files()

Depends on nothing but handles and URIs: no Scrapy, no file, no socket. The rules, and the codes
of what is told as odd, are in docs/redif.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lafka.archec.redif.reading import MOST_PROBLEMS as MOST_PROBLEMS
    from lafka.archec.redif.reading import TemplateReader as TemplateReader
    from lafka.archec.redif.reading import read as read
    from lafka.archec.redif.splitting import LONGEST_TEMPLATE as LONGEST_TEMPLATE
    from lafka.archec.redif.splitting import Readable as Readable
    from lafka.archec.redif.templates import Field as Field
    from lafka.archec.redif.templates import File as File
    from lafka.archec.redif.templates import Restrictions as Restrictions
    from lafka.archec.redif.templates import Template as Template
    from lafka.archec.redif.vocabulary import ITEMS as ITEMS
    from lafka.archec.redif.vocabulary import TYPES as TYPES

# Only what is asked for is loaded: a run over unchanged data reads no template.
_HOME_OF = {
    **dict.fromkeys(("MOST_PROBLEMS", "TemplateReader", "read"), "reading"),
    **dict.fromkeys(("LONGEST_TEMPLATE", "Readable"), "splitting"),
    **dict.fromkeys(("Field", "File", "Restrictions", "Template"), "templates"),
    **dict.fromkeys(("ITEMS", "TYPES"), "vocabulary"),
}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    return value
