"""docs/reference.md against the code: each name that users meet is there, and no other."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import ModuleType

import pytest

import lafka.settings
from lafka.cli.completion import Verb, all_verbs
from lafka.cli.verbs import VERBS
from lafka.items import FOBI_FIELDS
from lafka.papers.crawling.arguments import ARGUMENTS
from lafka.papers.outcomes import Group, Outcome
from lafka.papers.walk import Links
from lafka.runs.feed import FIELDS
from lafka.spiders import fobi_arguments as fobis
from tests import starts

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reference.md").read_text("utf-8")
SOURCES = {path: path.read_text("utf-8") for path in sorted((ROOT / "lafka").rglob("*.py"))}


def section(title: str) -> str:
    _, found, rest = PAGE.partition(f"\n## {title}\n")
    assert found, f"no section {title}"
    return rest.partition("\n## ")[0]


def rows(title: str) -> list[list[str]]:
    """The cells of a section's table, without its head."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines[2:]]


def first_words(title: str) -> list[str]:
    return [word for row in rows(title) for word in re.findall(r"`([^`]+)`", row[0])]


def value(cell: str) -> object:
    return ast.literal_eval(cell.strip("`"))


def everywhere(pattern: str) -> set[str]:
    return {name for text in SOURCES.values() for name in re.findall(pattern, text)}


def own_settings(module: ModuleType) -> dict[str, object]:
    return {name: getattr(module, name) for name in dir(module) if name.startswith("LAFKA_")}


def test_each_setting_is_there_with_its_default():
    told = {row[0].strip("`"): value(row[1]) for row in rows("Settings of Lafka")}
    assert told == own_settings(lafka.settings)


def test_no_setting_is_read_that_is_not_there():
    told = set(first_words("Settings of Lafka"))
    assert everywhere(r"\"(LAFKA_[A-Z_]*[A-Z])\"") <= told


def test_each_setting_names_its_unit_reader_and_use():
    for row in rows("Settings of Lafka"):
        assert len(row) == 5, row
        assert all(row[i] for i in (0, 1, 3, 4)), row


def test_changed_settings_of_scrapy_are_those_of_the_settings_file():
    for name, here, *_ in rows("Settings of Scrapy that Lafka changes"):
        assert getattr(lafka.settings, name.strip("`")) == value(here), name


def test_each_outcome_is_there_once():
    assert sorted(first_words("Outcomes")) == sorted(Outcome)


def test_each_group_is_there_with_its_outcomes():
    told = {
        row[0].strip("`"): set(re.findall(r"`([a-z-]+)`", row[1]))
        for row in rows("Groups of outcomes")
    }
    assert told == {str(group): {str(o) for o in group.outcomes} for group in Group}


def test_each_spider_argument_is_there():
    assert first_words("Spider arguments") == list(ARGUMENTS)


def test_each_argument_and_key_of_fobi_is_there():
    assert first_words("Arguments of fobi") == list(fobis.ARGUMENTS)
    assert first_words("The feed of fobis") == FOBI_FIELDS


def test_each_way_to_go_on_links_is_there():
    assert re.findall(r"^- `(\w+)`:", section("Spider arguments"), re.MULTILINE) == list(Links)


def test_each_key_of_the_feed_is_there_in_order():
    assert first_words("The outcome feed") == FIELDS


def test_each_stat_is_there():
    told = {re.sub(r"<\w+>", "*", name) for name in first_words("Stats")}
    assert told == {
        re.sub(r"\{\w+\}", "*", name) for name in everywhere(r"f?\"(lafka/[a-z_{}/]+)\"")
    }


def test_each_key_of_request_meta_is_there():
    keys = everywhere(r"(?m)^[A-Z_]+ = \"(lafka_[a-z_]+)\"")
    assert set(first_words("Keys of request.meta")) == keys


def test_each_flag_of_a_response_is_there():
    flags = everywhere(r"(?m)^[A-Z_]+ = \"(lafka-[a-z-]+)\"")
    assert flags
    for flag in flags:
        assert f"`{flag}`" in section("Keys of request.meta")


def verbs() -> list[str]:
    return [row[0].strip("`").split()[1] for row in rows("Commands")]


def test_each_command_is_there():
    assert sorted(verbs()) == sorted(VERBS)


def options_of(verb: Verb) -> set[str]:
    """Those with two dashes, without help's."""
    names = {name for option in verb.options for name in option.names}
    return {name for name in names if name.startswith("--")} - {"--help"}


OFFERED = {verb.name: verb for verb in all_verbs()}
SCRAPYS = options_of(OFFERED["suwaf"])
"""The options that each command has from Scrapy."""
FORMS = {"--jsonl", "--csv", "--sqlite", "--parquet"}


@pytest.mark.parametrize("group", ["warc", "archec"])
def test_each_verb_of_a_group_is_there_with_its_options(group):
    found = rows(f"The verbs of {group}")
    told = {" ".join(row[0].strip("`").split()[1:3]): row for row in found}
    offered = {verb.name: verb for verb in OFFERED[group].below}
    assert list(told) == list(offered)
    for name, row in told.items():
        assert set(re.findall(r"--[a-z-]+", row[2])) == options_of(offered[name]), name


@pytest.mark.parametrize("verb", verbs())
def test_scrapy_knows_the_command_and_its_options(verb):
    done = starts.verb("scrapy", verb, "-h")
    assert done.returncode == 0, done.stderr
    told = next(row for row in rows("Commands") if row[0].split()[1].strip("`") == verb)
    for option in re.findall(r"`(--?[a-zA-Z][a-z]*)", told[2]):
        assert re.search(rf"(?m)^ +.*{option}\b", done.stdout), option


@pytest.mark.parametrize("name", sorted(VERBS))
def test_each_option_of_a_command_is_there(name):
    told = next(row for row in rows("Commands") if row[0].split()[1].strip("`") == name)
    if name == "crawl" or VERBS[name].module == "scrapys":
        return  # Scrapy's own, which Scrapy's pages tell
    shared = FORMS if "the forms of `futs`" in told[2] else set()
    for option in options_of(OFFERED[name]) - SCRAPYS - shared - {"--output"}:
        assert option in told[2], option


def test_the_finish_reasons_of_trouble_are_there():
    from lafka.pipelines import RECORDS_AWAY, STORE_DAMAGED
    from lafka.storage.stopping import STORAGE_TROUBLE

    for reason in (STORAGE_TROUBLE, RECORDS_AWAY, STORE_DAMAGED):
        assert f"`{reason}`" in section("Finish reasons")


def test_each_environment_variable_is_there():
    read = everywhere(r"environ(?:\.get\(|\[)\"([A-Z_]+)\"")
    assert read <= set(first_words("Environment"))
