"""The walk of a trail through ``append``: few rooms, and down but for what a store has to say."""

import sys
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

import lafka
from tests.stores import PID, Store, page, pdf, quick_folder
from tests.test_imports import MAY

PACKAGE = Path(lafka.__file__).parent
ROOMS = sorted(MAY, key=len, reverse=True)
Step = tuple[str, str]


@cache
def room_of(code: CodeType) -> str:
    """Return the room of the table in docs/architecture.md; empty for code of others."""
    path = Path(code.co_filename)
    if not path.is_relative_to(PACKAGE):
        return ""
    name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    return next((room for room in ROOMS if f"{name}.".startswith(f"{room}.")), name)


class Steps:
    """The pairs of rooms of which one calls the other, in order, each once."""

    def __init__(self) -> None:
        self.found: dict[Step, str] = {}

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        room, caller = room_of(frame.f_code), frame.f_back
        while caller is not None and not room_of(caller.f_code):
            caller = caller.f_back
        if event == "call" and room and caller and room_of(caller.f_code) != room:
            self.found.setdefault((room_of(caller.f_code), room), frame.f_code.co_qualname)


def is_down(step: Step) -> bool:
    caller, room = step
    return any(f"{room}.".startswith(f"{name}.") for name in MAY.get(caller, ()))


def test_append_takes_twelve_steps_from_room_to_room_and_climbs_back_twice() -> None:
    steps = Steps()
    with quick_folder() as root:
        store = Store(root / "archive")
        splap = store.splap(page())
        captures = [splap, store.found(splap, "http://x.example/a.pdf", pdf(), "literal")]
        with store.archive.paper(store.archive.pid(PID)) as paper:
            sys.setprofile(steps)
            try:
                [added] = paper.append(captures)
            finally:
                sys.setprofile(None)
        store.raw.close()
    assert added.new
    assert steps.found[("storage.keeping", "warc")]
    assert len(steps.found) <= 12, sorted(steps.found.items())
    # The driver of the steps, and what a summary says of its contents.
    assert {step for step in steps.found if not is_down(step)} == {
        ("storage", "papers.archive"),
        ("storage.keeping", "papers.archive"),
    }
