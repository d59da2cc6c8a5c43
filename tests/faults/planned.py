"""What a crawl that is to be disturbed does before it begins; called in a fork of ``starts``."""

from __future__ import annotations

import os
import pickle
import signal
from base64 import b64decode

from lafka.storage import keeper
from tests.faults.stepcalls import Steps
from tests.faults.storecalls import Watch

LONG = 3.0
"""Seconds in which a batch of a set size gathers: until it is whole, or nothing more comes."""


def install(asked: tuple[bool, str]) -> None:
    """Hold until SIGCONT, if so asked; then watch by the plan, if there is one."""
    hold, plan = asked
    if hold:
        os.kill(os.getpid(), signal.SIGSTOP)
    if not plan:
        return
    watch = Watch(pickle.loads(b64decode(plan)))
    watch.install()
    Steps(watch).install()
    if watch.plan.batch:
        keeper.BATCH_MAX, keeper.GATHERING = watch.plan.batch, LONG
