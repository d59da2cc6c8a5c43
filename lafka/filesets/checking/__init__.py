"""The proof that filesets and items are as they were left; it shares no code with the writers.

``records``   records of a plain WARC, bundles and the files of items, read by rules of its own
``filesets``  each fileset's WARC against its summary, every file against its digests, items too
"""

from lafka.witness.problems import FileProblem as FileProblem
