"""A run's own records: where its settings come from, its report, outcome feed and progress."""
