"""The index of an archive: what it holds and what came of its links, in one SQLite database.

::

    index/                 in the archive's root, or where LAFKA_INDEX says
      archive.sqlite       papers, futlis, futs, asks, runs: docs/index.md has the tables
      captures.sqlite      every record of the paper WARCs, by URL and time (``--captures``)
      metadata.yml         what the tables are, for Datasette
      lock                 locked (flock) while the index is brought up to date

It is made of suwafs, outcome feeds and reports of runs, and never authoritative: whatever writes
to the archive never reads it, and deleting it loses nothing. Brought up to date after anything
that happened to the archive, it equals one made anew, row by row.

``tables``    the schema and its version; opening a database
``scan``      which folders of suwafs changed
``rows``      a suwaf, a line of a feed, a pid: what the tables have of them; pure
``links``     the life of a futli: held, suspect, lost, back; pure
``reading``   suwafs and lines -> what the tables have of them, but for numbers
``beside``    that reading by a second process, in order
``papers``    suwafs -> rows
``feeds``     reports and outcome feeds -> rows
``lines``     feeds line by line, and the counts of their lines by day
``anew``      all of it from nothing, each row written once
``build``     all of it, in batches, by one process at a time
``check``     whether an index equals one made anew
``captures``  the records of paper WARCs -> captures.sqlite
``records``   a paper WARC -> its rows there
``titles``    titles of papers: from ReDIF, or from the stored page
``search``    pid, beginning of one, URL, host, words -> papers, in pages
"""
