"""A stand-in for a folder that folds case: names that are equal under NFC and case folding are one.

The kernel of a test machine may know no such folder. Here the functions by which Python opens,
names and looks at files are given the name that is there for the one that is asked for, part by
part; so a file has the name by which it was made, as in a folder of ext4 with ``casefold``.
"""

from __future__ import annotations

import builtins
import functools
import io
import os
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_LISTED = os.listdir
_ONE = ("open", "stat", "lstat", "mkdir", "rmdir", "unlink", "listdir", "scandir", "access",
        "ftruncate")  # fmt: skip
"""``ftruncate`` takes no path; but ``tests/removals.py`` sees a test open the file, and so has to
see it cut the file, too."""
_TWO = ("rename", "replace", "link")


def folded(name: str) -> str:
    """What is one name for such a folder (Unicode 3.13, D146)."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def _there(root: str, path: Any) -> Any:
    """*path* with the names that are there, where it is below *root*."""
    if isinstance(path, int | bytes) or not os.fspath(path).startswith(f"{root}/"):
        return path
    found = root
    for part in os.fspath(path)[len(root) + 1 :].split("/"):
        try:
            names = _LISTED(found)
        except OSError:
            names = []
        same = (name for name in names if folded(name) == folded(part))
        found = f"{found}/{next(same, part)}"
    return found


@contextmanager
def folding(root: Path) -> Iterator[None]:
    """*root* folds case, for what this process does by path."""

    def given(function: Callable[..., Any], count: int) -> Callable[..., Any]:
        @functools.wraps(function)
        def called(*args: Any, **more: Any) -> Any:
            paths = [_there(str(root), path) for path in args[:count]]
            return function(*paths, *args[count:], **more)

        return called

    with pytest.MonkeyPatch.context() as patch:
        for name in (*_ONE, *_TWO):
            patch.setattr(os, name, given(getattr(os, name), 1 + (name in _TWO)))
        opened = given(io.open, 1)
        patch.setattr(io, "open", opened)
        patch.setattr(builtins, "open", opened)
        yield
