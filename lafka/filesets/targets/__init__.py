"""Targets: where an item is kept; so far what an item is called and says, which is no I/O."""
