"""The proof: whether filesets and items are as they were left. It shares no code with the writers.

``records``   records of a plain WARC, read by rules of its own
``items``     where an item's files are looked for
``filesets``  each fileset's WARC against its summary, every file against its digests, items too
"""

from lafka.witness.problems import FileProblem as FileProblem
