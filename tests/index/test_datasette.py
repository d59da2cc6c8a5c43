"""What Datasette is told of the tables is true of them; and Datasette itself, where it is there."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from lafka.index import tables
from lafka.index.build import METADATA
from tests.index.histories import History, futli_of, line, pid_of
from tests.services import apart


@pytest.fixture
def history(tmp_path: Path) -> History:
    made = History(tmp_path / "archive")
    made.suwaf(1, {0: [1.0]})
    made.feed(1, line(2, 2, "gone"))
    made.index()
    return made


def test_the_metadata_names_tables_and_columns_that_are_there(history: History) -> None:
    told = yaml.safe_load((history.place.folder / "metadata.yml").read_text("utf-8"))
    assert told == yaml.safe_load(METADATA.read_text("utf-8"))
    with closing(tables.open_to_read(history.place.database)) as db:
        for table, said in told["databases"]["archive"]["tables"].items():
            columns = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
            named = {*said.get("columns", ()), *said.get("facets", ())}
            assert columns
            assert named | {said.get("label_column", "")} <= columns | {""}
    assert {*told["databases"]["archive"]["tables"]} | {"meta", "folder"} == {
        "meta", "folder", "run", "host", "waits", "paper", "futli", "fut", "asked", "event",
        "daily", "words",
    }  # fmt: skip


def test_foreign_keys_hold_and_lead_to_numbers(history: History) -> None:
    with closing(tables.open_to_read(history.place.database)) as db:
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        ends = {(row[2], row[3], row[4]) for row in db.execute("PRAGMA foreign_key_list(asked)")}
    # Each names its column: Datasette shows no table that has another kind.
    assert ends == {("futli", "futli", "id"), ("run", "run", "id"), ("run", "last_run", "id")}


@pytest.mark.server("Datasette")
def test_datasette_opens_it_links_tables_and_searches(history: History, tmp_path: Path) -> None:
    database, metadata = history.place.database, history.place.folder / "metadata.yml"

    def get(path: str) -> dict[str, Any]:
        asked = "--get", path, "--metadata", metadata
        done = apart.run("datasette", database, *asked, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    assert get("/archive/futli.json?_shape=objects&_labels=on")["rows"][0]["paper"] == {
        "value": 1, "label": pid_of(1),
    }  # fmt: skip
    rows = get("/archive/paper.json?_shape=objects&_search=wpaper+2")["rows"]
    assert [row["pid"] for row in rows] == [pid_of(2)]
    assert futli_of(2) in json.dumps(get("/archive/futli.json?_shape=objects"))
