"""What Lafka's tests are; with ``--floors`` they tell what they reach of it."""

import os
import sys

if "--floors" in sys.argv or "TESTS_REACHED" in os.environ:
    from tests import reached

    reached.begin()  # before Lafka is imported, where it can be
