"""Memento (RFC 7089): datetimes, links and addresses, and what a server has mementos of.

``scrapy archec serve`` serves an obi store, ``scrapy gateway`` a list with files, and the web pages
an archive: the same addresses, so that ``scrapy crawl futli -a legacy=URL`` knows one kind of
gateway. No file, no socket, no clock is touched here.

``values``      mementos, datetimes and link headers
``addresses``   where a gateway has what of a URL
``holdings``    what a gateway serves from: a protocol, and its values
"""
