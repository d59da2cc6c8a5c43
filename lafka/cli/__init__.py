"""What the command line says: a module for each family of commands, the table in ``verbs``."""
