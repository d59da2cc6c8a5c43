"""The example: a small site on loopback, and the list that leads to it."""
