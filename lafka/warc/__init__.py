"""The WARC standard (ISO 28500, WARC/1.1) and nothing of Lafka's own.

``fields``    named fields: the header of a record, the body of a warcinfo
``dates``     WARC-Date at every precision
``records``   records to be written
``volumes``   a plain or compressed file, record by record, and what is wrong with it
``stored``    a record where it lies in a volume
``scanning``  from record to record, over whatever lies between them
``framing``   where a header ends and how long its block is
``streams``   a volume as one stream of plain bytes
``arc``       ARC files, read as if they were WARCs; their header lines in ``archeaders``
``alike``     other files that hold what WARCs hold
``reader``    records in a plain file, found by seeking over their blocks
``sources``   bytes in memory or in a file, read the same way
``http``      the HTTP message in a response block, its payload and its entity
``builders``  writes volumes: groups of records, names, rotation, nothing overwritten
``encoding``  records as bytes of a file, plain or a gzip member each
``appending`` a group of records whole at the end of a file, or the file as it was before
``names``     names of files by the guidelines; renaming that overwrites nothing
``sizes``     sizes with K, M, G, Ki, Mi, Gi

Only this package imports warcio.
"""
