"""Outcomes as people tell them apart: each stands in one group."""

import pytest

from lafka.papers import Group, Outcome

GROUPS = {
    "held": "fut",
    "page only": "splap-only bot-challenge",
    "not there": "not-found gone dns",
    "closed": "refused robots login restricted bad-certificate",
    "trouble": "other-type server-error timeout tls connection bad-http too-big truncated loop"
    " damaged",
    "ours": "bad-pid bad-url excluded",
}


@pytest.mark.parametrize("outcome", Outcome)
def test_each_outcome_stands_in_one_group(outcome: Outcome) -> None:
    assert [group for group in Group if outcome in group.outcomes] == [outcome.group]


@pytest.mark.parametrize("group", Group)
def test_the_groups_are_those_of_the_reference(group: Group) -> None:
    assert set(group.outcomes) == {Outcome(word) for word in GROUPS[group].split()}


def test_the_order_is_that_in_which_people_are_told() -> None:
    assert [str(group) for group in Group] == list(GROUPS)
