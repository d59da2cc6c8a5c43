"""Record exchanges as the wire carried them, byte for byte; knows no paper.

``handler`` downloads by a client of our own (``client``, ``recording``, ``request_options``), from
allowed addresses alone (``guard``, ``addresses``, ``resolving``), into an exchange
(``exchanges``); ``middlewares`` hands it to the raw log of the ``run`` (``rawlog``, ``rawfiles``),
and leaves what the crawl needs of it, small and picklable (``logged``). What killed runs left is
found by ``leftovers``; ``replay`` lets WARCs answer in the network's place.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lafka.capture.addons import Addon as Addon


def __getattr__(name: str) -> object:
    if name != "Addon":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = import_module("lafka.capture.addons").Addon
    return value
