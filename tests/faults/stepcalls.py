"""Syncs and locks that the store asks for in one place and has done in another: both are told.

A step (``lafka.storage.steps``) is made where it is needed and done by whoever drives that work, in
a thread of its own, or once for many. The stack of a call that it makes goes on with the lines that
made it, so that ``Plan.without`` and ``Plan.late`` find it by these.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from lafka.storage import steps
from tests.faults.storecalls import Call, Watch, caller

_MAKERS = (steps.DataSync, steps.FolderSync, steps.FileLock)
_DOERS = (steps.DataSync, steps.FileSync, steps.FolderSync)


class Steps:
    """What is done to the steps of this process."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._made: dict[int, tuple[steps.Step, tuple[tuple[str, int], ...]]] = {}
        self._late: list[tuple[Callable[[], None], set[object]]] = []

    def install(self) -> None:
        for maker in _MAKERS:
            maker.__init__ = self._noting(maker.__init__)  # type: ignore[misc]
        for doer in _DOERS:
            doer.do = self._doing(doer.do)  # type: ignore[method-assign]
        steps.FileLock.do = self._in_the_name_of(steps.FileLock.do)  # type: ignore[method-assign]
        steps.FileLock.tried = self._in_the_name_of(steps.FileLock.tried)  # type: ignore[method-assign]
        steps.FolderSync.key = property(self._key)  # type: ignore[assignment]

    def _noting(self, make: Callable[..., None]) -> Callable[..., None]:
        def made(step: steps.Step, *args: Any) -> None:
            make(step, *args)
            self._made[id(step)] = step, caller()

        return made

    def _in_the_name_of(self, do: Callable[..., Any]) -> Callable[..., Any]:
        def done(step: steps.Step, *args: Any) -> Any:
            self._watch.behalf.stack = self._made[id(step)][1]
            try:
                return do(step, *args)
            finally:
                self._watch.behalf.stack = ()

        return done

    def _doing(self, do: Callable[..., None]) -> Callable[..., None]:
        do = self._in_the_name_of(do)

        def done(step: steps.Step) -> None:
            stack = self._made[id(step)][1]
            late = self._watch.plan.late
            if late is None or not late.is_in(stack):
                do(step)
                self._catch_up(stack[:2])
                return
            with self._watch.lock:
                self._watch.tell(Call(kind="left out", path="late"))
                if isinstance(step, steps.DataSync):
                    step.fd = self._watch.again(step.fd)
                self._late.append((partial(do, step), set()))

        return done

    def _catch_up(self, place: tuple[tuple[str, int], ...]) -> None:
        """Do what was put off and has seen three other places since, *place* being one."""
        with self._watch.lock:
            for _, seen in self._late:
                seen.add(place)
            due = [do for do, seen in self._late if len(seen) > 2]
            self._late = [(do, seen) for do, seen in self._late if len(seen) < 3]
        for do in due:
            do()

    def _key(self, step: steps.FolderSync) -> Any:
        """One that is left out is not done in the name of another either."""
        stack = self._made[id(step)][1]
        plan = self._watch.plan
        apart = any(site is not None and site.is_in(stack) for site in (plan.without, plan.late))
        return id(step) if apart else step.folder
