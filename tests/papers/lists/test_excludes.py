from __future__ import annotations

import pytest

from lafka.errors import BadList
from lafka.papers.lists.listfiles import Excludes
from lafka.pids import SCHEMES

REPEC = SCHEMES["RePEc"]


def excludes(tmp_path, text: str, scheme=REPEC) -> Excludes:
    path = tmp_path / "exclude.txt"
    path.write_text(text)
    return Excludes.load(path, scheme)


@pytest.mark.parametrize(
    ("entry", "pid", "matches"),
    [
        ("repec:PRA:mprapa:1", "RePEc:pra:mprapa:1", True),
        ("RePEc:pra:mprapa:1", "RePEc:pra:mprapa:12", False),
        ("RePEc:pra:*", "RePEc:pra:mprapa:12", True),
        ("RePEc:pra:*", "RePEc:prb:mprapa:12", False),
        ("repec:PRA:mprapa:*S", "RePEc:pra:mprapa:1S", True),
        ("repec:PRA:mprapa:*S", "RePEc:pra:mprapa:1s", False),
        ("RePEc:pra:mprapa:[12]?", "RePEc:pra:mprapa:23", True),
        ("RePEc:pra:mprapa:[12]?", "RePEc:pra:mprapa:33", False),
        ("*:mprapa:*", "RePEc:pra:mprapa:33", True),
        ("*", "10.1/x", True),
        ("https://doi.org/10.1/X", "doi:10.1/x", True),
        ("doi:10.1/*", "10.1/X", True),
        ("RePEc:a:b:x[1]", "RePEc:a:b:x[1]", True),
        ("RePEc:a:b:x[1]", "RePEc:a:b:x1", True),
        ("RePEc:a:b:x[1", "RePEc:a:b:x[1", True),
    ],
)
def test_excludes(tmp_path, entry: str, pid: str, matches: bool) -> None:
    found = excludes(tmp_path, f"\ufeff# why\n\n  {entry}\r\nRePEc:z:z:*\n").match(REPEC.pid(pid))
    assert found == (entry if matches else None)


def test_many_excludes(tmp_path) -> None:
    plain = [f"RePEc:abc:wpaper:{n}" for n in range(100_000)]
    patterns = [f"RePEc:a{n}:*" for n in range(10_000)] + [
        f"RePEc:b{n}:*:1?" for n in range(10_000)
    ]
    left_out = excludes(tmp_path, "\n".join(plain + patterns))
    assert left_out.match(REPEC.pid("RePEc:abc:wpaper:99999"))
    assert left_out.match(REPEC.pid("RePEc:a9999:x:1")) == "RePEc:a9999:*"
    assert left_out.match(REPEC.pid("RePEc:b9999:x:12")) == "RePEc:b9999:*:1?"
    assert not any(left_out.match(REPEC.pid(f"RePEc:c{n}:x:12")) for n in range(1000))


def test_a_bad_exclude_file_is_named_with_its_line(tmp_path) -> None:
    with pytest.raises(BadList, match=r"exclude\.txt, line 3: RePEc:pra: fewer than four"):
        excludes(tmp_path, "# x\nRePEc:a:b:c\nRePEc:pra\n")
    with pytest.raises(BadList, match="no such file"):
        Excludes.load(tmp_path / "none", REPEC)
    (tmp_path / "bad").write_bytes(b"ok\n\xff\n")
    with pytest.raises(BadList, match="bad, line 2: not UTF-8"):
        Excludes.load(tmp_path / "bad", REPEC)
