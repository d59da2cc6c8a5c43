"""Lafka archives the full texts of scholarly papers."""

__version__ = "0.1.0"
