"""Hypothesis without a deadline: a busy machine is no reason to fail."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("lafka", settings.default, deadline=None)
settings.load_profile("lafka")
