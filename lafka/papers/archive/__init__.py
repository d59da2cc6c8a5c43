"""The root folder of papers: their WARCs and suwafs, plans, recovery, repairs, what is copied out.

A fut is read by ``archives`` and ``suwafs`` alone. What only writers and those who
read whole archives need is imported when it is first used, as an attribute of this package.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lafka.papers.archive import cache as cache
    from lafka.papers.archive import catalogue as catalogue
    from lafka.papers.archive import contents as contents
    from lafka.papers.archive import paperwarc as paperwarc
    from lafka.papers.archive import texts as texts

_LATER = ("cache", "catalogue", "contents", "paperwarc", "texts")


def __getattr__(name: str) -> ModuleType:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
