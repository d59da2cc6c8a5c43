"""``make services``: fetches what the tests' servers are made of, and says what is missing."""

from __future__ import annotations

import sys

from tests.services import apart, chromiums, kafkas, npms, postgresqls, promtools


def main() -> None:
    kafkas.fetch()
    npms.fetch()
    apart.fetch()
    promtools.fetch()
    chromiums.install()
    missing = [] if postgresqls.program("postgres") else [f"PostgreSQL: {postgresqls.HOW}"]
    if not kafkas.java():
        missing.append(f"Java: {kafkas.HOW}")
    if not promtools.program():
        missing.append(f"promtool: {promtools.HOW}")
    if not chromiums.program():
        missing.append(f"Chromium: {chromiums.HOW}")
    for sentence in missing:
        sys.stderr.write(f"{sentence}\n")


if __name__ == "__main__":
    main()
