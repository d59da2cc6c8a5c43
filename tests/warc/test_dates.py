from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lafka.warc import dates

TIMES = st.datetimes(
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))]),
    min_value=datetime(1, 1, 3),
    max_value=datetime(9999, 12, 29),
)


@given(TIMES)
@settings(deadline=None)
def test_what_is_written_is_read_back(time: datetime) -> None:
    assert dates.parse(dates.to_text(time)) == time


@given(TIMES)
@settings(deadline=None)
def test_less_precision_cuts(time: datetime) -> None:
    assert dates.parse(dates.to_seconds(time)) == time.replace(microsecond=0)
    cut = time.replace(microsecond=time.microsecond // 1000 * 1000)
    assert dates.parse(dates.to_milliseconds(time)) == cut


@given(TIMES, TIMES)
@settings(deadline=None)
def test_texts_of_one_precision_sort_as_times(one: datetime, other: datetime) -> None:
    assert (dates.to_text(one) < dates.to_text(other)) == (one < other)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-11", datetime(2026, 11, 1, tzinfo=UTC)),
        ("2026-11-20", datetime(2026, 11, 20, tzinfo=UTC)),
        ("2026-11-20T10:11Z", datetime(2026, 11, 20, 10, 11, tzinfo=UTC)),
        ("2026-11-20T10:11:12Z", datetime(2026, 11, 20, 10, 11, 12, tzinfo=UTC)),
        ("2026-11-20T10:11:12.5Z", datetime(2026, 11, 20, 10, 11, 12, 500_000, tzinfo=UTC)),
        (
            "2026-11-20T10:11:12.123456789Z",
            datetime(2026, 11, 20, 10, 11, 12, 123_456, tzinfo=UTC),
        ),
    ],
)
def test_every_w3c_precision(text: str, time: datetime) -> None:
    assert dates.parse(text) == time


@pytest.mark.parametrize(
    "text",
    [
        "", "20261120101112", "2026-11-20T10:11:12", "2026-11-20T10:11:12+01:00", "2026-13",
        "2026-02-30", "2026-11-20T25:00Z", "0000", "2026-11-20T10:11:12.Z", " 2026", "2026\n",
        "2026-11-20T10Z", "２０２６",
    ],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        dates.parse(text)


def test_now_is_aware() -> None:
    assert dates.now().utcoffset() == timedelta(0)
