"""Volumes: from a file to its records, and whether they hold to the standard."""

DETECTORS: list[str] = []
"""Functions, as ``module:name``, of a path and a source (or None) that return the class that reads
it. They are named here and imported when a file is first opened: they are made of this reader."""
