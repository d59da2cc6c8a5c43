"""Settings said outside the code: the environment, and sections of files called ``scrapy.cfg``.

``[lafka]`` has Lafka's names, ``[archec]`` those of the paper on ArchEc. From the weakest to the
strongest: Lafka's defaults, ``/etc/scrapy.cfg``, the user's, the one that is nearest to the current
folder, ``LAFKA_*`` of the environment, code, ``-s``. The files are those that Scrapy itself looks
for (``scrapy.utils.conf.get_sources``). ``lafka.settings`` reads them when it is imported, so that
they count whoever begins a crawl: a command, Scrapy's, scrapyd, a program.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from configparser import ConfigParser
from configparser import Error as ConfigError
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lafka.errors import BadArgument

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

PRIORITIES = {"default": 0, "command": 10, "project": 20, "cmdline": 40}
"""Those of ``scrapy.settings.SETTINGS_PRIORITIES`` that are met here."""
PREFIX = "LAFKA_"
SECTION = "lafka"
ENVIRONMENT = "the environment"
DEFAULT = "the default"
OPTION = "-s"
MODULE = "the settings module"

KNOWN: dict[str, Any] = {}
"""Lafka's settings and their defaults; ``lafka.settings`` tells them."""
CHANGED: dict[str, Any] = {}
"""Settings of Scrapy that ``lafka.settings`` changes, with its values."""
PATHS = frozenset((
    "LAFKA_ARCHIVE", "LAFKA_EXCLUDE", "LAFKA_WARC_SETTINGS", "LAFKA_SPOOL_DIR", "LAFKA_WAYBACK",
    "LAFKA_INDEX", "LAFKA_OBJECT_STORE", "LAFKA_REDIF_DIRECTORY", "LAFKA_ITEMS", "LAFKA_TOKENS",
    "LAFKA_WEB_REPLAYWEB", "LAFKA_WEB_WITHHELD",
))  # fmt: skip
"""Settings that name files or folders: in a file they count from that file's folder."""
OF_ARCHEC = {
    "object_store": "LAFKA_OBJECT_STORE",
    "redif_directory": "LAFKA_REDIF_DIRECTORY",
    "caching_database": "LAFKA_CACHING_DATABASE",
}
"""The names that the paper on ArchEc has for settings, in ``[archec]`` of scrapy.cfg."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting as one source has it; *source* is ``the environment`` or the path of a file."""

    name: str
    value: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideSettings:
    """Settings from outside the code: by name, the strongest source alone; *unknown* in words."""

    settings: Mapping[str, Setting]
    unknown: tuple[str, ...] = ()


def outside(environ: Mapping[str, str], files: Iterable[str | Path]) -> OutsideSettings:
    """Return what *environ* and *files*, the strongest last, say; ``BadArgument``."""
    settings: dict[str, Setting] = {}
    unknown: list[str] = []
    for said in [*_of_files([*files], unknown), *_of_environment(environ)]:
        if said.name in KNOWN:
            settings[said.name] = said
        else:
            unknown.append(_unknown(said))
    return OutsideSettings(settings=settings, unknown=tuple(unknown))


def here() -> OutsideSettings:
    """Return what is said to this process in its folder; ``BadArgument``."""
    return outside(os.environ, files())


def values(module: Mapping[str, Any]) -> dict[str, str]:
    """Return what is said here in the place of the settings of *module*; nothing where a file is
    damaged. Who checks a crawl (``lafka.runs.validation``) says so: an import is no place for it.
    """
    for name in filter(str.isupper, module):
        (KNOWN if name.startswith(PREFIX) else CHANGED)[name] = module[name]
    try:
        return {one.name: one.value for one in here().settings.values()}
    except BadArgument:
        return {}


def files() -> list[str]:
    """The files called ``scrapy.cfg`` as ``scrapy.utils.conf.get_sources`` lists them."""
    users = os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()
    here = Path.cwd()
    nearest = (folder / "scrapy.cfg" for folder in (here, *here.parents))
    return [
        "/etc/scrapy.cfg",
        r"c:\scrapy\scrapy.cfg",
        str(Path(users) / "scrapy.cfg"),
        str(Path("~/.scrapy.cfg").expanduser()),
        next((str(path) for path in nearest if path.exists()), ""),
    ]


def apply(settings: BaseSettings, said: OutsideSettings) -> None:
    """Set what is *said* in the place of defaults, below code and ``-s``; ``BadArgument``."""
    for one in said.settings.values():
        if settings.get(one.name) == KNOWN[one.name]:
            settings.set(one.name, one.value, priority="project")
    if not settings.get("LAFKA_ARCHIVE"):
        raise BadArgument("LAFKA_ARCHIVE is empty; it has to name a folder")


def source_of(settings: BaseSettings, name: str, said: OutsideSettings) -> str:
    """Return where the value of *name*, which *said* was applied to, came from."""
    priority = settings.getpriority(name) or 0
    if priority >= PRIORITIES["cmdline"]:
        return OPTION
    one = said.settings.get(name)
    if one and settings.get(name) == one.value:
        return one.source
    return DEFAULT if settings.get(name) == KNOWN.get(name) else MODULE


def archive_line(settings: BaseSettings, name: str = "LAFKA_ARCHIVE") -> str:
    """The line that says which archive is written to, and who said so; *name* is the setting."""
    return f"archive: {Path(settings[name]).absolute()} ({name}: {_source(settings, name)})"


def store_line(settings: BaseSettings, given: str | None = None) -> str:
    """The line that says which obi store is written to; *given* is that of the command line."""
    if given:
        return f"store: {Path(given).absolute()}"
    name = "LAFKA_OBJECT_STORE"
    return f"store: {Path(settings[name]).absolute()} ({name}: {_source(settings, name)})"


def _source(settings: BaseSettings, name: str) -> str:
    return source_of(settings, name, here())


def _of_environment(environ: Mapping[str, str]) -> Iterator[Setting]:
    for name in sorted(environ):
        if name.startswith(PREFIX):
            value = _listed(name, environ[name])
            yield Setting(name=name, value=value, source=ENVIRONMENT)


def _of_files(files: list[str | Path], passed_over: list[str]) -> Iterator[Setting]:
    for path in dict.fromkeys(Path(file) for file in files if str(file)):
        try:
            sections = _sections(path)
        except OSError as error:
            if path == Path(files[-1]):  # the project's own; the others are of all projects
                raise BadArgument(f"{path}: {error.strerror}") from None
            passed_over.append(f"{path}: {error.strerror}, passed over")
            continue
        for key, value in sections.get(SECTION, {}).items():
            name = PREFIX + re.sub(rf"\A{PREFIX}", "", key.upper().replace("-", "_"))
            yield Setting(name=name, value=_placed(name, value, path), source=str(path))
        for key, value in sections.get("archec", {}).items():
            if value and (known := OF_ARCHEC.get(key)):
                place, source = _placed(known, value, path), f"[archec] of {path}"
                yield Setting(name=known, value=place, source=source)


def _sections(path: Path) -> dict[str, dict[str, str]]:
    """Return the sections of the file *path*, none where none is; ``BadArgument``, ``OSError``."""
    parser = ConfigParser(interpolation=None)  # a "%" of a URL is one
    try:
        with path.open(encoding="utf-8") as file:
            parser.read_file(file)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (ConfigError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise BadArgument(f"{path}: not a file of settings: {reason}") from None
    own = parser.defaults()
    return {
        name: {key: text for key, text in parser.items(name) if key not in own}
        for name in parser.sections()
    }


def _listed(name: str, value: str) -> str:
    """*value* with plain commas between its parts, where the setting takes many."""
    if not isinstance(KNOWN.get(name), list):
        return value
    return ",".join(part.strip() for part in re.split(r"[,\n]", value) if part.strip())


def _placed(name: str, value: str, file: Path) -> str:
    """*value* as a process in any folder means it: relative paths count from *file*'s folder."""
    value = _listed(name, value)
    if name not in PATHS or not value:
        return value
    parts = value.split(",") if isinstance(KNOWN[name], list) else [value]
    return ",".join(str(file.parent.absolute() / Path(part).expanduser()) for part in parts)


def _unknown(said: Setting) -> str:
    return f"{said.source}: {said.name} is no setting of Lafka{meant(said.name, KNOWN)}"


GUESTS = ("_job",)
"""Arguments that scrapyd gives to any spider."""


def refuse_unknown_arguments(given: Iterable[str], known: Sequence[str]) -> None:
    """``BadArgument`` for a name of *given* that is none of *known*, the spider's arguments."""
    for name in given:
        if name not in (*known, *GUESTS):
            guess, those = meant(name, known), ", ".join(known)
            raise BadArgument(
                f"unknown argument {name!r}{guess}; the spider's arguments are {those}"
            )


def meant(word: str, known: Iterable[str], most: int = 1) -> str:
    """Return the end of a sentence about *word*, which is none of *known*: up to *most* of these
    that were probably meant; empty where none is near.
    """
    names = {name.lower(): name for name in known}
    near = " or ".join(names[one] for one in get_close_matches(word.lower(), names, n=most))
    return f"; {near} meant?" if near else ""
