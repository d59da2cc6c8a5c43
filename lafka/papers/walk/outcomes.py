"""Outcomes as the walk knows them; other crawls judge answers, too."""

from lafka.capture.outcomes import Group, Outcome, judge

__all__ = ["Group", "Outcome", "judge"]
