"""``python -m lafka``, and the command ``lafka`` of an installed Lafka."""

import sys

from lafka.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
