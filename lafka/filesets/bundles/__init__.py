"""Bundles, read where they lie, in bounded children."""
