import pickle
from pathlib import Path

import pytest

from lafka.warc.errors import (
    BadHttp,
    BadIndex,
    BadValue,
    BadWarc,
    DamagedFile,
    MissingSegment,
    NotFound,
    TornWarc,
    WarcError,
)


@pytest.mark.parametrize(
    "error",
    [
        TornWarc(Path("a"), "b", 7),
        BadIndex("a", "b"),
        BadHttp("x"),
        BadValue("x"),
        MissingSegment("x"),
    ],
)
def test_errors_survive_pickle(error: WarcError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert getattr(again, "offset", None) == getattr(error, "offset", None)


def test_damage_names_file_and_byte_and_drives_no_terminal() -> None:
    error = BadWarc(Path("x\n.warc"), "bad \x1b[2J", 5)
    assert str(error) == "x\\n.warc at byte 5: bad \\x1b[2J"
    assert (error.path, error.offset) == (Path("x\n.warc"), 5)


def test_the_tree() -> None:
    assert issubclass(TornWarc, BadWarc)
    assert issubclass(BadWarc, DamagedFile)
    assert issubclass(BadValue, ValueError)
    assert issubclass(NotFound, LookupError)
