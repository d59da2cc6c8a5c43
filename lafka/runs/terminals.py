"""A terminal with one live line below whatever is logged to it; without Scrapy, by ANSI alone."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

from lafka.errors import printable

ERASE = "\r\x1b[K"
SEPARATOR = " | "
COLUMNS = 80
"""Where the terminal does not tell how wide it is."""


def fitting(parts: Iterable[str], columns: int) -> str:
    """As many of *parts*, the first first, as stand in one line of *columns*."""
    line = ""
    for part in parts:
        more = f"{line}{SEPARATOR if line else ''}{part}"
        if len(more) >= columns:
            break
        line = more
    return line


class Terminal:
    """The terminal at *stream*; from ``attach`` to ``detach`` log handlers write above its line.

    Its methods may be called in any thread.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._turn = threading.RLock()
        self._line = ""
        self._width = COLUMNS
        self._handlers: list[logging.StreamHandler[Any]] = []

    @classmethod
    def at(cls, stream: IO[str] | None, environ: Mapping[str, str]) -> Self | None:
        """None where *stream* is no terminal, or one that cannot erase a line."""
        with suppress(ValueError, AttributeError):  # closed, or there is none
            if stream is not None and stream.isatty() and environ.get("TERM", "dumb") != "dumb":
                return cls(stream)
        return None

    @property
    def has_log(self) -> bool:
        """True where what is logged at INFO is seen in it."""
        return any(handler.level <= logging.INFO for handler in self._handlers)

    def attach(self) -> None:
        """Let the log handlers that write to the stream write above the line."""
        for handler in logging.root.handlers:
            if type(handler) is logging.StreamHandler and handler.stream is self._stream:
                handler.setStream(self)
                self._handlers.append(handler)

    def detach(self) -> None:
        """Erase the line, and let the handlers write to the stream as before."""
        self.show([])
        for handler in self._handlers:
            handler.setStream(self._stream)

    def show(self, parts: Iterable[str]) -> None:
        """Put *parts*, as many as fit, in the live line."""
        columns = self._columns()
        line = fitting(map(printable, parts), columns)
        with self._turn:
            if line != self._line or columns != self._width:
                self._put(f"{self._erase(columns)}{line}")
                self._line, self._width = line, columns

    def say(self, text: str) -> None:
        """Write *text*, whole lines, above the live line."""
        self.write(f"{text}\n")

    def write(self, text: str) -> int:
        """Return what a log handler writes: whole lines."""
        with self._turn:
            self._put(f"{self._erase(self._columns())}{text}{self._line}" if self._line else text)
        return len(text)

    def _erase(self, columns: int) -> str:
        """Return what erases the line, which a terminal that was narrowed has broken into rows."""
        rows = (len(self._line) - 1) // columns if columns < self._width else 0
        return f"\x1b[{rows}A\r\x1b[J" if rows > 0 else ERASE

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def _put(self, text: str) -> None:
        with suppress(OSError, ValueError):  # the terminal is gone; the crawl goes on
            self._stream.write(text)
            self._stream.flush()

    def _columns(self) -> int:
        with suppress(OSError, ValueError, AttributeError):
            return os.get_terminal_size(self._stream.fileno()).columns or COLUMNS
        return COLUMNS


def program() -> str:
    """The program that the user called: ``lafka``, or ``scrapy``."""
    called = Path(sys.argv[0])
    name = called.parent.name if called.stem == "__main__" else called.stem
    return "lafka" if name == "lafka" else "scrapy"
