"""The long form: tobi killed and refused at every store call of every phase.

python -m tests.archec.faults.long [SEED]
"""

from __future__ import annotations

import random
import sys
from collections import Counter

from tests.archec.faults import ordeals
from tests.archec.faults.test_kills import ERRORS, FOR_EVER, WRITES


def main(seed: int) -> int:
    rng, counts, troubles = random.Random(seed), Counter[str](), []
    for phase in range(ordeals.PHASES):
        for which in ordeals.every_call(phase):
            halves = ("half",) if which.kinds[0] in WRITES else ()
            for how in ("before", "after", *halves):
                troubles += ordeals.killed(phase, which, how)
                counts["kills"] += 1
            for error in rng.sample(ERRORS, 2):
                troubles += ordeals.refused(phase, which, error, rng.choice((1, FOR_EVER)))
                counts["refusals"] += 1
        print(phase, dict(counts), len(troubles), flush=True)
    for trouble in troubles:
        print(trouble)
    return bool(troubles)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else 1))
