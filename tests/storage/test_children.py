"""A child answers within its bounds; what stops it costs that one answer."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lafka.errors import MachineTrouble
from lafka.storage import children as module
from lafka.storage.children import ChildDied, Children
from tests.waiting import LIMIT

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True, params=["begun from nothing", "forks, as in other tests"])
def _kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "begun from nothing":
        monkeypatch.setattr(module, "subprocess", subprocess)


@pytest.fixture
def children() -> Iterator[Children]:
    made = Children("tests.storage.served", 1)
    yield made
    made.stop()


def echoed(children: Children, text: str = "a", data: bytes = b"") -> bool:
    answer = children.ask("echo", {"text": text}, data, seconds=5)
    return bool(answer == {"asked": text, "size": len(data), "data": data[-9:].decode()})


def process_of(children: Children) -> subprocess.Popen[bytes]:
    process = children._all[0]._process
    assert process is not None
    return process


def test_questions_and_answers_of_any_length_come_whole(children: Children) -> None:
    assert echoed(children)
    process = process_of(children)
    assert echoed(children, "\udc80 \0 é", b"x" * 5_000_000 + b"the end")
    assert len(children.ask("chat", {}, seconds=5)) == 3_000_000
    assert process_of(children) is process


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("die", "its reader ended with 7"),
        ("work", "more than 1 seconds of work"),
        ("fill", "its reader ended with 1"),
        ("none such", "its reader ended with 1"),
    ],
)
def test_what_stops_a_child_costs_one_answer(
    children: Children, task: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if task in ("work", "fill") and module.subprocess is not subprocess:
        pytest.skip("it takes its time, and is no matter of how the child began")
    monkeypatch.setattr(module, "PATIENCE", 100)  # the machine has other things to do, too
    assert echoed(children)
    with pytest.raises(ChildDied, match=f"^{said}$"):
        children.ask(task, {}, b"data", seconds=1)
    assert echoed(children)


@pytest.mark.parametrize("data", [b"", b"x" * 1_000_000], ids=["that waits", "that takes nothing"])
def test_a_child_gives_up_after_some_time_of_the_clock(
    children: Children, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    assert echoed(children)
    process = process_of(children)
    if data:
        os.kill(process.pid, signal.SIGSTOP)
    monkeypatch.setattr(module, "PATIENCE", 0)  # no time at all: whatever is asked is late
    with pytest.raises(ChildDied, match="no answer after 0 seconds"):
        children.ask("wait", {}, data, seconds=10)
    assert process.returncode == -signal.SIGKILL
    monkeypatch.undo()
    assert echoed(children)


def test_a_child_that_has_gone_is_started_anew(children: Children) -> None:
    assert echoed(children)
    process_of(children).kill()
    process_of(children).wait()
    assert echoed(children)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_is_sent_to_all_ends_no_child(children: Children, number: int) -> None:
    assert echoed(children)
    process = process_of(children)
    process.send_signal(number)
    assert echoed(children)
    assert process_of(children) is process


def test_children_that_are_cut_answer_nothing_any_more() -> None:
    made = Children("tests.storage.served", 1)
    assert echoed(made)
    errors: list[ChildDied] = []

    def ask() -> None:
        try:
            made.ask("wait", {}, seconds=100)
        except ChildDied as error:
            errors.append(error)

    waiting = [threading.Thread(target=ask) for _ in range(3)]
    for each in waiting:
        each.start()
    made.cut()
    for each in waiting:
        each.join(LIMIT)
    assert len(errors) == 3
    assert made.is_cut
    made.stop()


def test_who_asks_when_they_have_ended_does_not_wait_for_one() -> None:
    made = Children("tests.storage.served", 2)
    assert echoed(made)
    made.stop()
    errors: list[ChildDied] = []

    def ask() -> None:
        with pytest.raises(ChildDied) as error:
            echoed(made)
        errors.append(error.value)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(LIMIT)
    assert list(map(str, errors)) == ["not begun"]
    made.stop()


def test_a_child_ends_with_its_standard_input() -> None:
    made = Children("tests.storage.served", 2)
    assert echoed(made)
    [process] = [child._process for child in made._all if child._process]
    made.stop()
    assert process.returncode == 0


HEAD = json.dumps({"task": "echo", "text": "a", "seconds": 5}).encode()
ASKED = struct.pack(">QQ", len(HEAD), 4) + HEAD + b"data"


@pytest.mark.parametrize("cut", [len(ASKED), len(ASKED) - 1, 16 + 5, 7])
def test_a_child_whose_crawl_is_killed_ends_without_a_word(cut: int) -> None:
    """While it works, so that nobody reads the answer, or while it is asked."""
    read, write = os.pipe()
    os.close(read)
    try:
        command = [sys.executable, "-c", module._CODE, json.dumps(sys.path), "tests.storage.served"]
        done = subprocess.run(
            command, input=ASKED[:cut], stdout=write, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def ask_under(limits: str) -> str:
    """What a child answers to a process that begins under *limits* of a shell, or its trouble."""
    program = (
        "from lafka.errors import LafkaError\n"
        "from lafka.storage.children import Children\n"
        "children = Children('tests.storage.served', 1)\n"
        "try:\n    print(children.ask('echo', {'text': 'a'}, b'', seconds=5)['asked'])\n"
        "except LafkaError as error:\n    print(type(error).__name__, error)\n"
        "children.stop()\n"
    )
    done = subprocess.run(
        ["bash", "-c", f'{limits} && exec "$0" -c "$1"', sys.executable, program],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout.strip() or done.stderr


@pytest.mark.parametrize("limits", ["ulimit -v 700000", "ulimit -Hc 0", "ulimit -t 60", "true"])
def test_a_limit_that_is_there_already_is_lived_with(limits: str) -> None:
    assert ask_under(limits) == "a"


def test_a_child_that_cannot_begin_is_the_machines_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, said in [("no.such.module", "it ended with 1 before it began")]:
        children = Children(name, 1)
        with pytest.raises(MachineTrouble, match=f"a child process: {said}"):
            children.ask("echo", {}, seconds=1)
        children.stop()
    monkeypatch.setattr(module.sys, "executable", "/no/such/python")
    with pytest.raises(MachineTrouble, match="a child process: No such file"):
        Children("tests.storage.served", 1).ask("echo", {}, seconds=1)


def test_without_dev_null_no_child_begins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The child is told of another path: nobody takes the real one away."""
    code = module._CODE.replace(
        "from importlib", f"import os; os.devnull = {str(tmp_path)!r}\nfrom importlib"
    )
    monkeypatch.setattr(module, "_CODE", code)
    children = Children("tests.storage.served", 1)
    with pytest.raises(MachineTrouble, match=f"a child process: {tmp_path}: Is a directory"):
        children.ask("echo", {"text": "a"}, seconds=5)
    children.stop()
