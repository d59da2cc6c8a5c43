"""The index of an archive: what it holds and what came of its links, in one SQLite database.

::

    index/                 in the archive's root, or where LAFKA_INDEX says
      archive.sqlite       papers, futlis, futs, asks, runs: docs/index-tables.md has the tables
      captures.sqlite      every record of the paper WARCs, by URL and time (``--captures``)
      metadata.yml         what the tables are, for Datasette
      lock                 locked (flock) while the index is brought up to date

It is made of suwafs, outcome feeds and reports of runs, and never authoritative: whatever writes
to the archive never reads it, and deleting it loses nothing. Brought up to date after anything
that happened to the archive, it equals one made anew, row by row.

``tables``    the files of an index, the schema and its version; opening a database
``scan``      which suwafs changed, what they and lines of feeds say, in children; no database
``rows``      a suwaf, a line of a feed, a pid, the life of a futli: what the tables have; pure
``papers``    suwafs -> rows; counts of lines by day
``feeds``     reports and outcome feeds -> rows
``build``     all of it, in batches, by one process at a time; whether an index equals a new one
``captures``  the records of paper WARCs -> captures.sqlite
``titles``    titles of papers: from ReDIF, or from the stored page
``search``    pid, beginning of one, URL, host, words -> papers, in pages
"""
