"""The uses of a store: queries, the holdings of a gateway, and lists of futlis."""
