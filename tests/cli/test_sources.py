"""Settings outside the code: which source is the stronger, what a value means there."""

from __future__ import annotations

from pathlib import Path

import pytest
from scrapy.settings import Settings

import lafka.settings  # noqa: F401  it tells which settings there are
from lafka.errors import BadArgument
from lafka.runs.sources import ENVIRONMENT, KNOWN, OutsideSettings, apply, outside, source_of


def cfg(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "scrapy.cfg"
    path.write_text(text, "utf-8")
    return path


def values(said: OutsideSettings) -> dict[str, str]:
    return {one.name: one.value for one in said.settings.values()}


def settings(said: OutsideSettings, **given: str) -> Settings:
    made = Settings()
    made.setmodule("lafka.settings", priority="project")
    made.setdict(given, priority="cmdline")
    apply(made, said)
    return made


def test_the_environment_is_above_files_and_the_last_file_above_the_first(tmp_path):
    etc = cfg(tmp_path / "etc", "[lafka]\ncontact = etc\nlinks = all\nwriters = 2\n")
    near = cfg(tmp_path / "near", "[lafka]\ncontact = near\nlinks = first\n")
    said = outside({"LAFKA_CONTACT": "env"}, [etc, near])
    assert values(said) == {
        "LAFKA_CONTACT": "env",
        "LAFKA_LINKS": "first",
        "LAFKA_WRITERS": "2",
    }
    made = settings(said, LAFKA_LINKS="ranked")
    assert made["LAFKA_LINKS"] == "ranked"
    assert made["LAFKA_CONTACT"] == "env"
    sources = [source_of(made, f"LAFKA_{n}", said) for n in ("CONTACT", "LINKS", "WRITERS")]
    assert sources == [ENVIRONMENT, "-s", str(etc)]
    assert source_of(made, "LAFKA_ARCHIVE", said) == "the default"


def test_a_value_of_another_settings_module_is_not_called_a_default():
    made = settings(OutsideSettings(settings={}))
    made.set("LAFKA_ARCHIVE", "elsewhere", priority="project")
    apply(made, outside({"LAFKA_ARCHIVE": "env"}, []))
    assert source_of(made, "LAFKA_ARCHIVE", OutsideSettings(settings={})) == "the settings module"


@pytest.mark.parametrize("key", ["contact", "CONTACT", "lafka_contact", "LAFKA_CONTACT"])
def test_keys_stand_with_or_without_lafka(tmp_path, key):
    said = outside({}, [cfg(tmp_path, f"[lafka]\n{key} = https://a.example/50%25\n")])
    assert values(said) == {"LAFKA_CONTACT": "https://a.example/50%25"}


def test_relative_paths_count_from_the_folder_of_their_file(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "h"))
    text = "[lafka]\narchive = papers\nexclude = ~/no.txt\nwayback = a.warc, /b.warc\n c.warc\n"
    said = values(outside({"LAFKA_SPOOL_DIR": "spool"}, [cfg(tmp_path / "x", text)]))
    assert said["LAFKA_ARCHIVE"] == f"{tmp_path}/x/papers"
    assert said["LAFKA_EXCLUDE"] == f"{tmp_path}/h/no.txt"
    assert said["LAFKA_WAYBACK"] == f"{tmp_path}/x/a.warc,/b.warc,{tmp_path}/x/c.warc"
    assert said["LAFKA_SPOOL_DIR"] == "spool"


def test_lists_take_blanks_after_commas():
    said = outside({"LAFKA_ALLOWED_NETWORKS": "127.0.0.0/8, 10.0.0.0/8"}, [])
    made = settings(said)
    assert made.getlist("LAFKA_ALLOWED_NETWORKS") == ["127.0.0.0/8", "10.0.0.0/8"]


def test_what_is_no_setting_is_told_with_its_place_and_what_was_meant(tmp_path):
    path = cfg(tmp_path, "[DEFAULT]\nx = 1\n[lafka]\nzzz_qqqq = 1\n")
    said = outside({"LAFKA_ARCHVE": "x", "OTHER": "y"}, [path])
    assert values(said) == {}
    assert said.unknown == (
        f"{path}: LAFKA_ZZZ_QQQQ is no setting of Lafka",
        "the environment: LAFKA_ARCHVE is no setting of Lafka; LAFKA_ARCHIVE meant?",
    )


def test_a_file_without_our_section_or_none_at_all_says_nothing(tmp_path):
    path = cfg(tmp_path, "[settings]\ndefault = other.settings\n")
    assert not outside({}, [path, tmp_path / "none" / "scrapy.cfg", ""]).settings


@pytest.mark.parametrize("text", ["archive = x\n", "[lafka]\nx\n", "[lafka]\na=1\na=2\n"])
def test_a_damaged_file_is_refused_by_its_name(tmp_path, text):
    path = cfg(tmp_path, text)
    with pytest.raises(BadArgument, match=f"{path}: not a file of settings"):
        outside({}, [path])


def test_a_file_of_all_projects_that_cannot_be_read_is_passed_over_and_told(tmp_path):
    users, near = tmp_path / "users", cfg(tmp_path / "near", "[lafka]\nlinks = all\n")
    users.mkdir()
    said = outside({}, [users, near])  # a folder: root reads any file
    assert (values(said), said.unknown) == (
        {"LAFKA_LINKS": "all"}, (f"{users}: Is a directory, passed over",)
    )  # fmt: skip
    with pytest.raises(BadArgument, match=f"{users}: Is a directory"):
        outside({}, [near, users])


def test_an_archive_without_a_name_is_refused():
    with pytest.raises(BadArgument, match="LAFKA_ARCHIVE is empty"):
        settings(outside({"LAFKA_ARCHIVE": ""}, []))


def test_every_setting_can_be_said():
    said = outside(dict.fromkeys(KNOWN, "1"), [])
    assert set(said.settings) == set(KNOWN)
    assert not said.unknown
