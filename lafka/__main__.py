"""``python -m lafka``, and the command ``lafka`` of an installed Lafka."""

import sys


def main() -> int:
    """Do what the command line says; the exit code, 130 where it was interrupted."""
    try:
        # Here, for it takes most of a second, in which Ctrl-C shall give no traceback.
        from lafka.cli.entry import main as run  # noqa: PLC0415

        return run()
    except KeyboardInterrupt:
        sys.stderr.write("lafka: interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
