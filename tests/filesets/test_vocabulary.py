"""Every status of the closed vocabulary is brought about by a real crawl in a named test."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from lafka.filesets.model.statuses import Status
from tests.crawls.running import ROOT

_LANDING = "test_statuses::test_each_status_of_landing_pages_and_platforms"
_LIMITS = "test_rules::test_limits_hold_before_the_first_file_is_asked_for"
_OTHERWISE = "test_rules::test_what_came_otherwise_than_told_is_never_committed"
_DIGESTS = "test_rules::test_bytes_that_have_another_digest_than_their_platform_says"
_BUNDLES = "test_bundled::test_bundles_are_held_against_the_manifest_and_read_by_one_seek"
_ROAD = "test_road::test_datasets_are_archived_file_by_file_and_cost_no_request_again"
_STDIN = "test_command::test_a_crowd_goes_from_standard_input_to_standard_output"

BROUGHT_ABOUT = {
    "success": _ROAD,
    "success-existing": _ROAD,
    "success-file": "test_topics::test_requests_come_from_a_topic_and_results_go_to_theirs",
    "skip-url-blocklist": _LIMITS,
    "no-capture": _LANDING,
    "terminal-bad-status": _LIMITS,
    "redirect-loop": _LANDING,
    "blocked-cookie": _LANDING,
    "blocked-captcha": _LANDING,
    "blocked-wall": _LANDING,
    "empty-blob": _LANDING,
    "body-too-large": _LANDING,
    "bad-gzip-encoding": _LANDING,
    "no-platform-match": _LANDING,
    "platform-scope": _LANDING,
    "platform-restricted": _LIMITS,
    "platform-404": _LANDING,
    "platform-http-error": _LANDING,
    "platform-error": _LANDING,
    "not-implemented": _STDIN,
    "empty-manifest": _LANDING,
    "incomplete-manifest": _LANDING,
    "too-large-size": _LIMITS,
    "too-large-file": _LIMITS,
    "too-many-files": _LIMITS,
    "no-space": _LANDING,
    "no-strategy-helper": _LANDING,
    "unsafe-path": _LIMITS,
    "error-platform-download": _OTHERWISE,
    "error-archiveorg-upload": "test_items::test_a_folder_that_is_not_lafkas_is_left_alone",
    "mismatch": _DIGESTS,
    "mismatch-size": _OTHERWISE,
    "mismatch-sha1": _DIGESTS,
    "mismatch-sha256": _DIGESTS,
    "mismatch-md5": _OTHERWISE,
    "mismatch-existing": "test_kills::test_versions_that_change_are_told_and_never_written_over",
    "transfer-encoding-error": _OTHERWISE,
    "bundle-unreadable": _BUNDLES,
    "bundle-missing-file": _BUNDLES,
    "partial": _LANDING,
    "bad-request": _STDIN,
    "damaged": "test_kills::test_a_damaged_fileset_is_told_and_the_others_go_on",
    "gave-up": "test_topics::test_a_message_that_kills_its_worker_is_given_up_and_the_innocent"
    "_beside_it_is_not",
}  # fmt: skip
"""Status -> the test of tests/filesets/crawls in which a crawl tells it."""


@cache
def _texts(module: str) -> dict[str, frozenset[str]]:
    """The string literals of each test of *module*."""
    source = (ROOT / "tests" / "filesets" / "crawls" / f"{module}.py").read_text("utf-8")
    return {
        node.name: frozenset(
            inner.value
            for inner in ast.walk(node)
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
        )
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
    }


def test_no_status_is_without_its_test() -> None:
    assert BROUGHT_ABOUT.keys() == set(map(str, Status))


@pytest.mark.parametrize("status", BROUGHT_ABOUT)
def test_the_test_of_a_status_is_there_and_names_it(status: str) -> None:
    module, _, name = BROUGHT_ABOUT[status].partition("::")
    assert status in _texts(module)[name]
