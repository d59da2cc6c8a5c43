from __future__ import annotations

import json
import subprocess
import sys

SCRIPT = """
import gc, json
before = gc.get_threshold()
from lafka.storage import limits
limits.look_rarely()
cycle = []
cycle.append(cycle)
del cycle
limits.keep_what_stands()
kept = [list(range(2)) for _ in range(limits.OBJECTS // 2)]
collections = gc.get_stats()[0]["collections"]
more = [list(range(2)) for _ in range(limits.OBJECTS)]
print(json.dumps([before, gc.get_threshold(), gc.get_freeze_count(), gc.garbage,
                  gc.get_stats()[0]["collections"] - collections]))
"""


def test_the_collector_looks_rarely_and_not_at_what_stood() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, check=True)
    before, now, frozen, garbage, looks = json.loads(done.stdout)
    assert now[0] > 2 * before[0]  # 700 up to Python 3.12, 2000 from then on
    assert frozen > 1000
    assert garbage == []
    assert looks == 1


LATER = """
import gc
from lafka.storage import limits
limits.look_later()
was = gc.isenabled()
limits.keep_what_stands()
print(was, gc.isenabled())
"""


def test_the_collector_waits_until_all_stands() -> None:
    done = subprocess.run([sys.executable, "-c", LATER], capture_output=True, check=True)
    assert done.stdout.split() == [b"False", b"True"]


OLD = """
import gc, weakref
from lafka.storage import limits
limits.look_rarely()
limits.keep_what_stands()

class Trail:
    pass

trail, gone = Trail(), []
trail.itself, seen = trail, weakref.ref(trail, gone.append)
gc.collect(1)  # it was in flight, and is old now
del trail
kept = []
while not gone and len(kept) < 20 * limits.OBJECTS:  # to ask seen() would keep it at each look
    kept.append([])
print(len(kept) // limits.OBJECTS)
"""


def test_what_was_in_flight_at_a_look_does_not_wait_for_long() -> None:
    done = subprocess.run([sys.executable, "-c", OLD], capture_output=True, check=True)
    assert int(done.stdout) < 10
