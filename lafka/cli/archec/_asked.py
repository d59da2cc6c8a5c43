"""What ``lafka tobi`` is asked for by settings and options, and the account of what came of it."""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from lafka.errors import BadArgument

if TYPE_CHECKING:
    from argparse import Namespace

    from scrapy.settings import BaseSettings

    from lafka.archec.gather.runs import Plan, TobiReport


def plan(settings: BaseSettings, opts: Namespace) -> Plan:
    """The plan of a run; ``BadArgument``."""
    from lafka.archec.gather.loss_rules import LossRule  # noqa: PLC0415
    from lafka.archec.gather.runs import Plan  # noqa: PLC0415
    from lafka.archec.gather.tobis import Clocks  # noqa: PLC0415

    rule = LossRule(
        share=_number(settings, "LAFKA_LOSS_SHARE"),
        days=_number(settings, "LAFKA_LOSS_DAYS"),
        accepted=frozenset(code.lower() for code in opts.accept_losses),
        partial=opts.partial,
    )
    clocks = Clocks(now=lambda: int(time.time()), monotonic=time.monotonic)
    return Plan(rule=rule, clocks=clocks, at=_at(opts), dry=opts.dry_run)


def _at(opts: Namespace) -> int | None:
    from lafka.archec.store import tists  # noqa: PLC0415

    if opts.at != "name":
        return tists.parse(opts.at) if opts.at else None
    found = tists.in_name(Path(opts.tarball or "").name)
    if found is None:
        raise BadArgument("--at name wants -f with a tarball whose name has a date as 2012-11-07")
    return found


def _number(settings: BaseSettings, name: str) -> float:
    try:
        number = float(settings[name])
    except (TypeError, ValueError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise BadArgument(f"{name}={settings[name]!r} has to be a number from 0")
    return number


def account(report: TobiReport, *, dry: bool) -> None:
    """Counts as a line of JSON on standard output, what is to be looked at on standard error."""
    told = {"gatherings": report.tists, **dict(sorted(report.counts.items()))}
    told |= {"problems": dict(sorted(report.problems.items()))}
    told |= {"withheld": report.withheld} if report.withheld else {}
    print(json.dumps(told | {"dry": True} if dry else told))
    for one in report.recovered:
        print(f"scrapy tobi: the gathering {one.tist} was killed, and is ended", file=sys.stderr)
    if report.moved:
        print(f"scrapy tobi: the clock is {report.moved} seconds behind the last gathering;"
              " tists go on from that one", file=sys.stderr)  # fmt: skip
    if not report.whole:
        print("scrapy tobi: not all could be read, so nothing is lost", file=sys.stderr)
    for code, count in sorted(report.withheld.items()):
        print(f"scrapy tobi: {count} losses of {code} are withheld;"
              f" --accept-losses {code} believes them", file=sys.stderr)  # fmt: skip
