"""The way of a request from its landing page to its result."""
