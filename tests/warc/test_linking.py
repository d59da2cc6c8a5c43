"""Names of links: no two volumes share one, none is too long for a disk."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from lafka.warc.reading.handles import flat_name

PART = st.text(st.characters(blacklist_characters="/\0%", blacklist_categories=("Cs",)), min_size=1)
PATHS = st.lists(PART, min_size=1, max_size=5).map(lambda parts: Path("/".join(parts)))


@given(PATHS, PATHS)
def test_other_paths_have_other_names(one: Path, other: Path) -> None:
    assert (flat_name(one) == flat_name(other)) is (one == other)


@given(PATHS)
def test_names_are_short_enough(path: Path) -> None:
    assert len(flat_name(path).encode()) <= 255


def test_suffixes_stay_where_a_name_is_cut() -> None:
    assert flat_name(Path("x" * 200, "y" * 100 + ".warc.gz")).endswith(".warc.gz")
