"""Metrics of a crawl: what Prometheus is told, by its own parser and promtool."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from types import SimpleNamespace
from urllib.request import urlopen

import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics import exposition, parser
from prometheus_client.parser import text_string_to_metric_families

from lafka.runs.metrics import CrawlCollector
from tests.crawls.running import ROOT, Crawl, Run, crawl
from tests.services.promtools import promtool
from tests.sites.server import Seen, Server, reply
from tests.starts import Shell
from tests.stores import pdf
from tests.test_reference import first_words
from tests.test_shell_lines import blocks
from tests.waiting import LIMIT, until

HOST = "127.0.0.2"
ALERTS = ROOT / "deploy" / "alerts.yml"


def names(text: str) -> set[str]:
    """Return metrics with their labels, as the reference writes them."""
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    order = ["outcome", "state", "run", "worker", "shard", "version"]
    return {
        name + (f"{{{','.join(sorted(labels, key=order.index))}}}" if labels else "")
        for name, labels in found.items()
    }


def value(text: str, name: str, **labels: str) -> float:
    [found] = [
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if (sample.name, sample.labels) == (name, labels)
    ]
    return found


@pytest.fixture
def registry(tmp_path: Path) -> CollectorRegistry:
    """The metrics of a fleet's worker that has a gate."""
    stats = {"lafka/trails/fut": 2, "lafka/filesets/success": 1, "lafka/filesets/bytes": 7}
    crawler = SimpleNamespace(
        stats=SimpleNamespace(get_stats=lambda: stats | {"lafka/list/error": "a sentence"}),
        spider=SimpleNamespace(
            feeder=SimpleNamespace(waiting_hosts=1, waiting_lines=4),
            list_input=SimpleNamespace(partitions=3, untold=6, worker="w-1"),
        ),
        settings={},
        engine=None,
        get_downloader_middleware=lambda _: None,
    )
    gate = SimpleNamespace(held=5, waited=0.5)
    registry = CollectorRegistry()
    registry.register(
        CrawlCollector(crawler, SimpleNamespace(gate=gate, root=tmp_path, name="a-run"))
    )
    return registry


def test_the_reference_has_each_metric(registry: CollectorRegistry) -> None:
    assert names(generate_latest(registry).decode()) == set(first_words("Metrics"))


def test_metrics_pass_the_strict_parser_and_promtool(registry: CollectorRegistry) -> None:
    text = exposition.generate_latest(registry).decode()
    assert {family.name for family in parser.text_string_to_metric_families(text)}
    promtool("check", "metrics", stdin=generate_latest(registry).decode())


def test_counts_are_those_of_the_stats(registry: CollectorRegistry) -> None:
    text = generate_latest(registry).decode()
    assert value(text, "lafka_trails_total", outcome="fut") == 2
    assert value(text, "lafka_trails_total", outcome="success") == 1
    assert value(text, "lafka_bytes_total") == 7
    assert value(text, "lafka_gate_claims") == 5
    assert value(text, "lafka_fleet_partitions") == 3
    assert value(text, "lafka_fleet_untold") == 6
    assert 'worker="w-1"' in text
    assert "a sentence" not in text


def test_a_crawl_is_asked_while_it_goes_on(tmp_path: Path) -> None:
    list_, asked = tmp_path / "list.tsv", []
    with Server((HOST,)) as site:

        def scrape() -> str:
            with urlopen(asked[0], timeout=LIMIT) as answer:
                asked.append(answer.read().decode())
            return asked[-1]

        def last(_: Seen) -> object:
            until(lambda: 'outcome="fut"} 1.0' in scrape())
            return reply(pdf(1), "application/pdf")

        site.routes["/0.pdf"] = reply(pdf(0), "application/pdf")
        site.routes["/1.pdf"] = last
        lines = [f"RePEc:abc:wpaper:{n}\t{site.at(HOST)}/{n}.pdf\n" for n in range(2)]
        list_.write_text("".join(lines))
        site.pause_after(0)
        given = ("-a", f"input={list_}")
        with Crawl(
            tmp_path / "archive", *given, LAFKA_METRICS="127.0.0.1:0", LAFKA_WORKER="w-2"
        ) as going:
            log = ""
            while not (found := re.search(r"Metrics are at (\S+) port (\d+)", log)):
                line = going.process.stderr.readline()
                assert line, log
                log += line
            asked.append(f"http://{found[1]}:{found[2]}/metrics")
            site.resume()
            run = going.ended()
    assert run.code == 0
    assert not run.troubles()
    text = asked[-1]
    assert value(text, "lafka_trails_total", outcome="fut") == 1
    assert value(text, "lafka_futs_total") == 1
    assert value(text, "lafka_bytes_total") == len(pdf(0))
    assert value(text, "lafka_requests_total") >= 2
    assert value(text, "lafka_hosts", state="busy") == 1
    assert value(text, "lafka_disk_free_bytes") > 0
    assert 'worker="w-2"' in text
    assert not re.search(r"gate|fleet|127\.0\.0\.2|wpaper", text)


def refused(tmp_path: Path, address: str) -> Run:
    """Return how a crawl ends that is to be asked at *address*: it has asked for nothing."""
    list_ = tmp_path / "list.tsv"
    with Server((HOST,)) as site:
        list_.write_text(f"RePEc:abc:wpaper:1\t{site.at(HOST)}/1.pdf\n")
        run = crawl(tmp_path / "archive", list_, LAFKA_METRICS=address)
        assert not site.seen
    assert not list((tmp_path / "archive").rglob("*.json*"))
    return run


@pytest.mark.parametrize("address", ["9410", "here:9410", "127.0.0.1:", "127.0.0.1:70000"])
def test_what_is_no_address_begins_no_crawl(tmp_path: Path, address: str) -> None:
    run = refused(tmp_path, address)
    assert run.code == 2
    assert f"LAFKA_METRICS={address!r} is no address as 127.0.0.1:9410" in run.log


def test_a_port_that_is_taken_begins_no_crawl(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        run = refused(tmp_path, f"127.0.0.1:{port}")
    assert run.code == 2
    assert f"nothing can listen at 127.0.0.1 port {port}: Address already in use\n" in run.log


def test_alarms_are_rules_over_metrics_that_are_there() -> None:
    assert "5 rules found" in promtool("check", "rules", str(ALERTS))
    told = {name.partition("{")[0] for name in first_words("Metrics")}
    assert set(re.findall(r"lafka_\w+", ALERTS.read_text())) <= told


STILL = {
    "lafka_trails_total{outcome='fut'}": "10+0x60",
    "lafka_lines_waiting": "7+0x60",
    "lafka_disk_free_bytes": "100e9-1e9x60",
    "lafka_gate_claims": "0+0x60",
    "lafka_fleet_untold": "0+20x60",
    "up{job='lafka'}": "0+0x60",
}
WELL = {
    "lafka_trails_total{outcome='fut'}": "10+9x60",
    "lafka_lines_waiting": "7+0x60",
    "lafka_disk_free_bytes": "100e9+0x60",
    "lafka_gate_claims": "3+0x60",
    "lafka_fleet_untold": "7+0x60",
    "up{job='lafka'}": "1+0x60",
}


@pytest.mark.parametrize("series", [STILL, WELL], ids=["still", "well"])
def test_alarms_ring_where_they_should(tmp_path: Path, series: dict[str, str]) -> None:
    alerts = [rule["alert"] for rule in yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]]
    query = "count(ALERTS{alertstate='firing'})"
    rung = [{"value": len(alerts)}] if series is STILL else []
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": text} for name, text in series.items()],
        "promql_expr_test": [{"expr": query, "eval_time": "55m", "exp_samples": rung}],
    }
    rules = {"rule_files": [str(ALERTS)], "evaluation_interval": "1m", "tests": [test]}
    path = tmp_path / "test.yml"
    path.write_text(yaml.safe_dump(rules))
    promtool("test", "rules", str(path))


def test_the_how_to_on_spidermon_is_run(tmp_path: Path, programs: Path) -> None:
    [block] = blocks("docs/how-to/alarm-with-spidermon.md", "sh")
    shell = Shell(tmp_path, (programs,))
    with Server((HOST,)) as site:
        site.routes["/0.pdf"] = reply(pdf(0), "application/pdf")
        list_ = [f"RePEc:abc:wpaper:{n}\t{site.at(HOST)}/{n}.pdf\n" for n in range(2)]
        (tmp_path / "list.tsv").write_text("".join(list_))
        done = shell(block.replace("pip install spidermon\n", ""))
    assert done.returncode == 0, done.stderr
    assert "nine lines of ten end with a fut: 1 not greater than or equal to 1.8" in done.stdout
