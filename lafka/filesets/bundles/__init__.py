"""Bundles (zip, tar), read where they lie, in child processes with bounds."""
