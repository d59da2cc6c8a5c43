"""Failures that no site can explain: one is believed, five hosts in a row are the machine."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from time import monotonic

import pytest

from lafka.errors import MachineTrouble
from lafka.politeness.canary import Canary

WHY = "names cannot be looked up"


def judged(hosts: Iterable[str], most: int = 5, *, answer: bool = False, stop: bool = False):
    """What is said of *hosts*, failing at once, and the troubles; an *answer* comes meanwhile."""

    async def run() -> list[bool]:
        canary = Canary(most, troubles.append, grace=0.01)
        told = [asyncio.ensure_future(canary.is_the_sites(host, WHY)) for host in hosts]
        await asyncio.sleep(0)
        if answer:
            canary.answered()
        if stop:
            canary.stopping()
        return await asyncio.gather(*told)

    troubles: list[MachineTrouble] = []
    return asyncio.run(run()), list(map(str, troubles))


def test_four_hosts_are_believed_and_five_are_not() -> None:
    assert judged("abcd") == ([True] * 4, [])
    assert judged("abcde") == ([False] * 5, [f"5 hosts in a row: {WHY}"])
    assert judged("abcde" * 2) == ([False] * 10, [f"5 hosts in a row: {WHY}"])


def test_one_host_is_one_however_often_it_fails() -> None:
    assert judged("aaaaaaaaaa") == ([True] * 10, [])


def test_where_a_host_answers_the_others_failed_alone() -> None:
    assert judged("abcdefgh", answer=True) == ([True] * 8, [])


def test_of_a_crawl_that_stops_nothing_is_said() -> None:
    assert judged("ab", stop=True) == ([False] * 2, [])


def test_what_fails_after_the_stop_is_no_sites() -> None:
    async def run() -> bool:
        canary = Canary(5, lambda trouble: None, grace=0.01)
        canary.stopping()
        return await canary.is_the_sites("a", WHY)

    assert not asyncio.run(run())


def test_none_is_held_where_that_is_set() -> None:
    assert judged("abcdefgh", 0) == ([True] * 8, [])


def test_an_answer_of_one_looked_up_before_says_nothing_of_names() -> None:
    async def run() -> list[bool]:
        canary = Canary(2, troubles.append, grace=0.01)
        told = [asyncio.ensure_future(canary.is_the_sites(host, WHY)) for host in "ab"]
        await asyncio.sleep(0)
        canary.answered(known=monotonic() - 60)
        return await asyncio.gather(*told)

    troubles: list[MachineTrouble] = []
    assert asyncio.run(run()) == [False, False]
    assert len(troubles) == 1


@pytest.mark.parametrize("works", [True, False])
def test_what_works_for_another_is_the_sites(works: bool) -> None:
    async def probe() -> bool:
        return works

    async def run() -> list[bool]:
        canary = Canary(2, troubles.append, grace=0.01, probe=probe)
        return await asyncio.gather(*(canary.is_the_sites(host, WHY) for host in "abc"))

    troubles: list[MachineTrouble] = []
    assert asyncio.run(run()) == [works] * 3
    assert len(troubles) == (0 if works else 1)


def test_an_answer_between_begins_the_row_anew() -> None:
    async def run() -> list[bool]:
        canary = Canary(2, troubles.append, grace=0.001)
        told = [await canary.is_the_sites("a", WHY)]
        canary.answered()
        told.append(await canary.is_the_sites("b", WHY))
        told.append(await canary.is_the_sites("c", WHY))
        return told

    troubles: list[MachineTrouble] = []
    assert asyncio.run(run()) == [True, True, False]
    assert len(troubles) == 1
