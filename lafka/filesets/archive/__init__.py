"""The fileset WARC and its summary: what a fileset's captures are stored in.

::

    <archive>/fileset/
      warc/<path>.warc     one a fileset, all its versions; append-only, never compressed
      suwaf/<path>.json    its summary; can always be made again from the WARC
      raw/<run>/           raw WARCs of fileset runs that are not wholly stored
      index.sqlite         which request led to which fileset; can be made again from the summaries

``notes``        what a capture's warcinfo and a metadata record say; the one table of it
``contents``     the inventory of a fileset WARC, read record by record
``groups``       records to be appended, their places known before the first byte is written
``filesetwarc``  lock, recover, append, commit
``filesets``     the folder: where a fileset lies, what is held of it, its files' bytes
``storing``      what a crawl stores of one request: pages, API answers, files, the result
``index``        the requests that had a hit
``recovery``     what killed runs left in the raw WARCs
"""
