"""Private names of Scrapy: reached through one module, and of the shape that Lafka counts on."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from lafka.capture import scrapy_private

ROOT = Path(__file__).parents[2] / "lafka"
EXPECTED = {
    "check_stop_download": {"signal", "crawler", "request"},
    "get_dataloss_msg": {"url"},
    "get_maxsize_msg": {"size", "limit", "request", "expected"},
    "get_warnsize_msg": {"size", "limit", "request", "expected"},
    "install_idna_fallbacks": set(),
    "load_context_factory": {"crawler"},
    "log_tls_connection": {"hostname", "connection"},
    "make_response": {
        "url", "status", "headers", "body", "flags", "certificate", "ip_address", "protocol",
        "stop_download",
    },
    "wrap_twisted_exceptions": set(),
}  # fmt: skip


@pytest.mark.parametrize("name", scrapy_private.__all__)
def test_a_private_name_takes_what_it_is_given(name: str) -> None:
    taken = set(inspect.signature(getattr(scrapy_private, name)).parameters)
    assert EXPECTED[name] <= taken, f"Scrapy has changed {name}: it takes {sorted(taken)}"


def test_no_other_module_reaches_a_private_name() -> None:
    """Of modules and of names; ``lafka.runs.exits`` has a logger's name, which is a string."""
    for path in ROOT.rglob("*.py"):
        text = path.read_text("utf-8")
        if path.name == "scrapy_private.py" or "from scrapy." not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("scrapy."):
                reached = [*node.module.split("."), *(one.name for one in node.names)]
                assert not [name for name in reached if name.startswith("_")], path
