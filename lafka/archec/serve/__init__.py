"""The store as it is asked: queries, and the holdings of a gateway."""
