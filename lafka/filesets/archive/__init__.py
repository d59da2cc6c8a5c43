"""The fileset WARC and its summary: the store of a fileset's captures.

::

    <archive>/fileset/
      warc/<path>.warc     one a fileset, all its versions; append-only, never compressed
      suwaf/<path>.json    its summary; can always be made again from the WARC
      raw/<run>/           raw WARCs of fileset runs that are not wholly stored
      index.sqlite         which request led to which fileset; can be made again from the summaries

``contents``     the inventory of a fileset WARC, read record by record; its warcinfo and metadata
``filesetwarc``  lock, recover, append, commit; the places of records to be appended
``filesets``     the folder: the files of a fileset, bags, what killed runs left in the raw WARCs
``storing``      pages, API answers, files and the result of one request
``index``        the requests that had a hit
``repairs``      repairs, each proved before it is kept
"""
