"""``lafka completion SHELL``: the script by which a shell completes ``lafka``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lafka.cli._shared.base import ArchiveCommand
from lafka.errors import BadArgument

if TYPE_CHECKING:
    from argparse import Namespace


class Command(ArchiveCommand):
    most_args = 1

    def syntax(self) -> str:
        return "bash|zsh|fish|man"

    def short_desc(self) -> str:
        return "Print the completion of lafka for a shell, or its man page"

    def act(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        import lafka  # noqa: PLC0415
        from lafka.cli._shared.completing import SHELLS, completion, manual  # noqa: PLC0415

        if args and args[0] == "man":
            sys.stdout.write(manual(lafka.__version__))
        elif args and args[0] in SHELLS:
            sys.stdout.write(completion(args[0]))
        else:
            raise BadArgument(f"say for which shell: {', '.join(SHELLS)}; or man")
