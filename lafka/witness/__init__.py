"""The strict reader of WARCs, on which the proofs stand; it shares no code with writers."""
