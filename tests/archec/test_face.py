"""The face of the package hands on what is in it, when it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import lafka.archec


def test_each_name_of_the_face_is_that_of_its_module():
    for name, home in lafka.archec._HOME_OF.items():
        assert getattr(lafka.archec, name).__module__.startswith("lafka.archec"), home
        assert name in dir(lafka.archec)


def test_another_name_is_none():
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        lafka.archec.Nothing  # noqa: B018


def test_the_package_alone_imports_nothing():
    code = "import sys, lafka.archec; print([m for m in sys.modules if m.startswith('lafka.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['lafka.archec']"
