"""Who may not have a file: what templates of archives and series say for all that is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lafka.archec.redif.templates import restricting

if TYPE_CHECKING:
    from lafka.archec.redif.handles import Handle
    from lafka.archec.redif.templates import File, Template

_ENCLOSING = ("archive", "series")


class Restrictions:
    """The restrictions of series and archives; whole when all their templates were added."""

    def __init__(self) -> None:
        self._said: dict[str, str] = {}

    def add(self, template: Template) -> None:
        """Take what *template* says, if it is of an archive or a series; the first one counts."""
        if template.type in _ENCLOSING and template.handle:
            said = template.first("Restriction")
            if said:
                self._said.setdefault(template.handle.text, said)

    def of(self, handle: Handle, file: File) -> str | None:
        """Return what restricts *file* of the template with *handle*; None for nothing.

        The nearest that says anything counts: the file, the template, the series, the archive;
        ``none`` says that nothing does.
        """
        if file.restriction or file.free:
            return file.restriction
        said = next(filter(None, map(self._said.get, handle.enclosing)), None)
        return restricting(said)
