import pickle

import pytest

from lafka import errors
from lafka.errors import KeeperError, LafkaError, StorageTrouble, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 漢", "plain é 漢"),
        ("a\r\nb", "a\\r\\nb"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\u202e\u2028\ufeff", "\\u202e\\u2028\\ufeff"),
        ("\ud800", "\\ud800"),
        ("", ""),
    ],
)
def test_foreign_text_cannot_drive_a_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert str(LafkaError(text)) == shown


def test_storage_trouble_names_file_and_reason() -> None:
    assert str(StorageTrouble("a/b", OSError(28, "No space left on device"))) == (
        "a/b: No space left on device"
    )
    assert str(StorageTrouble("a", OSError("WARC file exists: x"))) == "a: WARC file exists: x"


@pytest.mark.parametrize(
    "error",
    [
        StorageTrouble("a", OSError(28, "No space left on device")),
        KeeperError("a", "b"),
        errors.BadPid("x"),
    ],
)
def test_errors_survive_pickle(error: LafkaError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert getattr(again, "offset", None) == getattr(error, "offset", None)


def test_callers_errors_are_value_errors_and_what_is_not_held_is_a_lookup_error() -> None:
    assert issubclass(errors.BadPid, ValueError)
    assert issubclass(errors.NotHeld, LookupError)
