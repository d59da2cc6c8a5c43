from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.stores import Store, quick_folder


@pytest.fixture
def store() -> Iterator[Store]:
    with quick_folder() as root:
        made = Store(root / "archive")
        yield made
        made.die()
