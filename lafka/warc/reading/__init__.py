"""Volumes: from a file to its records, and whether they hold to the standard."""
