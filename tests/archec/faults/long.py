"""The long form: tobi, and the road of fobis, killed and refused at every store call.

python -m tests.archec.faults.long [SEED]
"""

from __future__ import annotations

import random
import sys
from collections import Counter

from tests.archec.faults import fobis, ordeals, test_fobi_kills
from tests.archec.faults.test_kills import ERRORS, FOR_EVER, WRITES


def main(seed: int) -> int:
    rng, troubles = random.Random(seed), []
    for road, phases, every_call, of in (
        ("tobis", ordeals.PHASES, ordeals.every_call, ordeals),
        ("fobis", fobis.PHASES, fobis.every_call, test_fobi_kills),
    ):
        counts = Counter[str]()
        for phase in range(phases):
            for which in every_call(phase):
                halves = ("half",) if which.kinds[0] in WRITES else ()
                for how in ("before", "after", *halves):
                    troubles += of.killed(phase, which, how)
                    counts["kills"] += 1
                for error in rng.sample(ERRORS, 2):
                    troubles += of.refused(phase, which, error, rng.choice((1, FOR_EVER)))
                    counts["refusals"] += 1
            print(road, phase, dict(counts), len(troubles), flush=True)
    for trouble in troubles:
        print(trouble)
    return bool(troubles)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else 1))
