"""No connection to an address that is not public; IPv6: crawls that have loopback alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.capture.test_addresses import LOOPBACK, OTHERS_REFUSED
from tests.crawls.running import ROOT
from tests.sites.alone import HERE, NAMES


def can_be_alone() -> bool:
    tried = ["unshare", "-rnm", "mount", "--bind", "/etc/hosts", "/etc/hosts"]
    tools = shutil.which("unshare") and shutil.which("ip") and Path("/etc/hosts").exists()
    return bool(tools) and not subprocess.call(tried, stderr=subprocess.DEVNULL)


pytestmark = pytest.mark.skipif(not can_be_alone(), reason="no network of its own is to be had")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("alone")
    names = (f"{address} {name}\n" for name, every in NAMES.items() for address in every)
    (folder / "hosts").write_text("".join(names))
    done = subprocess.run(
        ["unshare", "-rnm", "bash", "tests/sites/alone.sh", folder],
        cwd=ROOT, env={**os.environ, "PYTHON": sys.executable}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(json.loads((folder / "found.json").read_bytes()))


def outcomes(found: dict[str, Any], way: str) -> Counter[str]:
    told = found["outcomes"].items()
    return Counter(outcome for pid, outcome in told if pid.split(":")[2] == way)


@pytest.mark.long("it tries the trap itself, by every way there is to connect")
def test_the_trap_counts_connections_to_all_kinds_of_addresses(found: dict[str, Any]) -> None:
    assert found["held"] == HERE


def test_no_spelling_of_an_address_leads_there(found: dict[str, Any]) -> None:
    """As a line of the list, by a redirect, a refresh, a link, a name."""
    spelled = found["spelled"]
    assert spelled["trapped"] == []
    count = len(LOOPBACK) + len(OTHERS_REFUSED) + len(NAMES)
    assert count > 75
    assert outcomes(spelled, "good") == {"fut": 1}  # the site itself may be asked
    for way, also in (("line", "bad-url"), ("redirect", "refused"), ("refresh", "bad-http")):
        told = outcomes(spelled, way)
        assert told.keys() <= {"refused", also}, way
        assert told["refused"] > 70, way
        assert told.total() == count, way
    assert outcomes(spelled, "links") == {"splap-only": count}
    assert (spelled["code"], spelled["troubles"]) == (0, [])


def test_no_proxy_leads_there(found: dict[str, Any]) -> None:
    assert found["proxied"]["trapped"] == []
    assert found["proxied"]["outcomes"] == {"RePEc:alo:proxy:1": "refused"}


def test_no_name_leads_there_that_was_public_a_moment_ago(found: dict[str, Any]) -> None:
    rebound = found["rebound"]
    assert rebound["trapped"] == []
    assert outcomes(rebound, "rebound") == {"refused": 9}
    for address in ("192.0.66.1", "127.0.0.1"):
        assert f"rebind0.example is {address}" in rebound["log"]


def test_ipv6_sites_are_crawled(found: dict[str, Any]) -> None:
    """By address, by a name that has IPv6 alone, by one whose IPv4 address may not be asked."""
    six = found["over_six"]
    assert outcomes(six, "six") == {"fut": 4}
    assert six["addresses"] == ["WARC-IP-Address: ::1"]
    assert (six["code"], six["troubles"], six["trapped"]) == (0, [], [])
