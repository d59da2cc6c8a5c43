from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lafka.warc.errors import BadValue
from lafka.warc.format import dates
from lafka.warc.format.dates import WarcDate

TIMES = st.datetimes(
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))]),
    min_value=datetime(1, 1, 3),
    max_value=datetime(9999, 12, 29),
)

PRECISIONS = st.sampled_from([4, 6, 8, 12, 14, 15, 17, 20, 23])
DATES = st.builds(
    lambda time, rest, precision: WarcDate(WarcDate.of(time).digits + rest).cut(precision),
    TIMES,
    st.from_regex(r"[0-9]{3}", fullmatch=True),
    PRECISIONS,
)


@given(TIMES)
def test_what_is_written_is_read_back(time: datetime) -> None:
    assert dates.parse(dates.to_text(time)) == time


@given(TIMES)
def test_less_precision_cuts(time: datetime) -> None:
    assert dates.parse(dates.to_seconds(time)) == time.replace(microsecond=0)
    cut = time.replace(microsecond=time.microsecond // 1000 * 1000)
    assert dates.parse(dates.to_milliseconds(time)) == cut


@given(TIMES, TIMES)
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


@given(DATES)
def test_a_date_is_read_back_at_its_precision(date: WarcDate) -> None:
    assert WarcDate.parse(date.text) == date == WarcDate.parse(str(date))
    assert WarcDate.parse(date.digits) == date
    assert date.datetime == dates.parse(date.text)


@given(DATES, DATES)
def test_dates_are_ordered_across_precisions(one: WarcDate, other: WarcDate) -> None:
    if one.datetime != other.datetime:
        assert (one < other) == (one.datetime < other.datetime)
    assert (one == other) == (one.text == other.text)
    assert one.distance(other) == other.distance(one) >= timedelta()
    assert one.covers(one.cut(14)) == (one.precision <= 14)


@given(DATES, PRECISIONS)
@example(WarcDate("200012312359591"), 4)
def test_a_date_covers_what_it_was_cut_from(date: WarcDate, precision: int) -> None:
    less = date.cut(precision)
    assert less.covers(date)
    assert less <= date
    assert not less.distance(date) or less.precision >= 14


@pytest.mark.parametrize(
    ("text", "digits14", "digits17", "again"),
    [
        ("2026", "20260101000000", "20260101000000000", "2026"),
        ("2026-11", "20261101000000", "20261101000000000", "2026-11"),
        ("2026-11-20T10:11Z", "20261120101100", "20261120101100000", "2026-11-20T10:11Z"),
        ("2026112010", "20261120100000", "20261120100000000", "2026-11-20T10:00Z"),
        ("20261120101112", "20261120101112", "20261120101112000", "2026-11-20T10:11:12Z"),
        (
            "2026-11-20T10:11:12.123456789Z",
            "20261120101112",
            "20261120101112123",
            "2026-11-20T10:11:12.123456789Z",
        ),
    ],
)
def test_digits(text: str, digits14: str, digits17: str, again: str) -> None:
    date = WarcDate.parse(text)
    assert (date.digits14, date.digits17, date.text) == (digits14, digits17, again)


@pytest.mark.parametrize(
    ("one", "other", "seconds"),
    [
        ("2026", "2026-05-01", 0),
        ("2026", "2025-12-31T23:59:59Z", 1),
        ("2026", "2027-01-01T00:00:09Z", 10),
        ("2024-02", "2024-03-01T00:00:00Z", 1),
        ("2026-11-20T10:11Z", "2026-11-20T10:12:00Z", 1),
        ("2026-11-20T10:11:12Z", "2026-11-20T10:11:12.5Z", 0.5),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z", 0),
    ],
)
def test_distance_is_between_spans(one: str, other: str, seconds: float) -> None:
    assert WarcDate.parse(one).distance(WarcDate.parse(other)) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", ["", "202611201", "20261320", "20260230", "202611202500", "2026-11-20T10:11:12", "x"]
)
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(BadValue, match="not a WARC-Date"):
        WarcDate.parse(text)


@given(st.text(max_size=30) | st.from_regex(r"[0-9:TZ.-]{0,30}"))
def test_any_text_is_a_date_or_a_bad_value(text: str) -> None:
    try:
        date = WarcDate.parse(text)
    except BadValue:
        return
    assert WarcDate.parse(date.text).datetime == date.datetime


def test_now_has_the_precision_asked_for() -> None:
    assert WarcDate.now().precision == 20
    assert WarcDate.now(14).text[19:] == "Z"


def test_whatever_says_a_time_is_a_date() -> None:
    date = WarcDate.parse("2026-11-20T10:11:12.500000Z")
    assert WarcDate.of(date) == WarcDate.of(date.text) == WarcDate.of(date.datetime) == date
    assert WarcDate.of(date.datetime, 14).text == "2026-11-20T10:11:12Z"
    with pytest.raises(BadValue, match="WARC-Date"):
        WarcDate.of("now")
