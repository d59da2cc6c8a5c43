"""The proof: whether filesets and items are as they were left. It shares no code with the writers.

``problems``  what can be wrong, as data; docs/problems.md explains each code
``records``   records of a plain WARC, read by rules of its own
``filesets``  each fileset's WARC against its summary, every file against its digests, items too
"""
