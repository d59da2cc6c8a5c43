import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lafka import warc


def told_to_mypy() -> dict[str, str]:
    """Name and home of what the package hands on, as its import statements have it."""
    tree = ast.parse(Path(warc.__file__).read_text())
    return {
        name.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.level
        for name in node.names
        if name.asname == name.name
    }


def test_what_is_told_to_mypy_is_what_is_there() -> None:
    assert told_to_mypy() == warc._HOME_OF


@pytest.mark.parametrize("name", warc._HOME_OF)
def test_each_name_is_there(name: str) -> None:
    assert getattr(warc, name).__name__ == name
    assert name in dir(warc)


def test_each_module_has_its_place_on_the_map() -> None:
    entries = Path(warc.__file__).parent.iterdir()
    modules = {path.stem for path in entries if path.stem[0] != "_" and path.suffix != ".typed"}
    assert modules <= set(re.findall(r"``(\w+)``", warc.__doc__ or ""))


def test_no_name_is_that_of_a_module() -> None:
    """Which would be there in its place once it is imported."""
    modules = {path.stem for path in Path(warc.__file__).parent.iterdir()}
    assert not modules & set(warc._HOME_OF)


def test_a_star_gives_the_public_names() -> None:
    names: dict[str, object] = {}
    exec("from lafka.warc import *", names)
    assert names.keys() - {"__builtins__"} == warc._HOME_OF.keys()


def test_another_name_is_not_there() -> None:
    with pytest.raises(AttributeError, match="Wark"):
        _ = warc.Wark


def test_a_part_of_the_library_is_imported_without_the_rest() -> None:
    code = "import sys, lafka.warc.format.http as _; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "lafka.warc.format.http" in loaded
    assert not loaded & {
        "lafka.warc.reading.volumes",
        "lafka.warc.format.records",
        "warcio",
        "scrapy",
    }
