"""A fileset's id as a pid: where its WARC and summary lie in the archive."""

from __future__ import annotations

from lafka.errors import BadPid
from lafka.filesets.model.types import FilesetPlatformItem, PlatformError
from lafka.pids import SCHEMES, Pid


def fileset_pid(item: FilesetPlatformItem) -> Pid:
    """The pid of *item*, with its path; always of the scheme ``any``.

    ``PlatformError`` where its platform names it in a way that is no id: with blanks, or too long.
    """
    if item.fileset_id is None:
        raise PlatformError("the platform does not say what it is", item)
    try:
        pid = SCHEMES["any"].pid(item.fileset_id)
    except BadPid as error:
        raise PlatformError(f"the fileset's id: {error}", item) from None
    return pid
