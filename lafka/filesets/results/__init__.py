"""Results on their way out: topics, tables, rows in a database."""
