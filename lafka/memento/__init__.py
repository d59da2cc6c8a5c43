"""Memento (RFC 7089): datetimes, links and addresses, and who has mementos."""
