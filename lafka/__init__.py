"""Lafka archives the full texts of scholarly papers."""

__version__ = "1.0.0"
