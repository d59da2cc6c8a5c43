"""Shards of a list: crawls with archives of their own that share it, line by line."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from lafka.papers import shard_of
from tests.crawls.running import Run, check, crawl, outcomes
from tests.sites.server import Server, reply
from tests.stores import pdf

COUNT = 3
HOSTS = tuple(f"127.0.0.{n}" for n in range(2, 9))
ALONE = "Each host of the list is asked by one shard alone"


def written(path: Path, site: Server) -> Path:
    """A list of 28 papers at seven hosts, with a line that stands twice and two that are bad."""
    lines = []
    for number in range(28):
        site.routes[f"/{number}.pdf"] = reply(pdf(number), "application/pdf")
        url = f"{site.at(HOSTS[number % 7])}/{number}.pdf"
        lines.append(f"RePEc:abc:wpaper:{number}\t{url}")
    lines += [lines[3], "RePEc:abc:wpaper:bad\tno url", f"no pid\t{site.at(HOSTS[0])}/x.pdf"]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def report(archive: Path) -> dict[str, Any]:
    [path] = (archive / "runs").glob("*.json")
    values: dict[str, Any] = json.loads(path.read_bytes())
    return values


def ended(archives: list[Path]) -> Counter[tuple[str, str, str]]:
    """Pid, futli and outcome of all lines."""
    lines = [line for archive in archives for line in outcomes(archive)[0]]
    return Counter((line["pid"], line["as_written"], line["outcome"]) for line in lines)


def test_shards_give_each_line_of_a_list_one_outcome_together(tmp_path: Path) -> None:
    with Server(HOSTS) as site:
        list_ = written(tmp_path / "list.tsv", site)
        whole = crawl(tmp_path / "whole", list_)
        archives = [tmp_path / f"shard{number}" for number in range(COUNT)]
        runs: list[Run] = []
        asked: list[set[str]] = []
        for number, archive in enumerate(archives):
            site.forget()
            runs.append(crawl(archive, list_, "-a", f"shard={number}/{COUNT}"))
            asked.append({seen.host for seen in site.seen})
    assert [run.code for run in (whole, *runs)] == [0, 0, 0, 0]
    assert not whole.troubles()
    assert not any(run.troubles(ALONE) for run in runs)
    assert all(run.log.count(ALONE) == 1 for run in runs)
    assert ended(archives) == ended([tmp_path / "whole"])
    assert sum(map(len, asked)) == len(set().union(*asked)) == len(HOSTS)
    for number, archive in enumerate(archives):
        check(archive)
        lines = outcomes(archive)[0]
        assert {shard_of(line["futli"], line["pid"], COUNT) for line in lines} <= {number}
        values = report(archive)
        assert values["done"]
        assert values["list"]["shard"] == f"{number}/{COUNT}"
        assert values["list"]["lines"] == values["lines"] == len(lines)
    of_whole = report(tmp_path / "whole")["list"]
    assert "shard" not in of_whole
    assert {report(archive)["list"]["sha256"] for archive in archives} == {of_whole["sha256"]}
    assert sum(report(archive)["lines"] for archive in archives) == of_whole["lines"]


def test_what_is_no_shard_begins_no_crawl(tmp_path: Path) -> None:
    with Server(HOSTS) as site:
        list_ = written(tmp_path / "list.tsv", site)
        run = crawl(tmp_path / "archive", list_, "-a", "shard=3/3")
        assert run.code != 0
        assert "shard='3/3' is not like 0/4" in run.log
        assert site.seen == []
    assert not (tmp_path / "archive").exists()
