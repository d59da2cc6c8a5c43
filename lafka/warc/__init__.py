"""The WARC standard (ISO 28500, WARC/1.1) and nothing of Lafka's own.

``fields``    named fields: the header of a record, the body of a warcinfo
``dates``     WARC-Date at every precision
``records``   records to be written
``reader``    records in a plain file, found by seeking over their blocks
``sources``   bytes in memory or in a file, read the same way
``http``      the HTTP message in a response block, its payload and its entity
``surts``     keys under which indexes sort URLs
``rawfiles``  scrapy-warcio's file naming, rotation and settings under exact records

Only this package imports scrapy-warcio and warcio.
"""
