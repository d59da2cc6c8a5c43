"""The command line: a module for each family of commands, and their table in ``verbs``."""
