"""Addresses that nobody guesses and that soon end: a secret of this process over pid and time."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from time import time

from lafka.errors import NotHeld
from lafka.papers import Pid

LIFETIME = 3600
"""Seconds: as long as somebody looks at a replayed page, whose worker reads it bit by bit."""
_TOKEN = re.compile(r"([0-9]{1,12})-([0-9a-f]{64})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Makes and checks tokens, each for one paper."""

    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    clock: Callable[[], float] = time

    def token(self, pid: Pid) -> str:
        """Return a token for *pid*, its end in front."""
        end = int(self.clock()) + LIFETIME
        return f"{end}-{self._digest(pid, end)}"

    def check(self, pid: Pid, token: str) -> None:
        """Raise ``NotHeld`` where *token* is not one for *pid*, or is past its end."""
        found = _TOKEN.fullmatch(token)
        if found is None or not hmac.compare_digest(found[2], self._digest(pid, int(found[1]))):
            raise NotHeld("no such page")
        if int(found[1]) < self.clock():
            raise NotHeld("this address has ended: open the replay from the page of the paper")

    def _digest(self, pid: Pid, end: int) -> str:
        return hmac.new(self.secret, f"{end} {pid}".encode(), "sha256").hexdigest()
