"""Memento (RFC 7089): datetimes, links and addresses, and what a server has mementos of.

``lafka archec serve`` serves an obi store, ``lafka gateway`` a list with files, and the web pages
an archive: the same addresses, so that ``lafka crawl futli -a legacy=URL`` knows one kind of
gateway. No file, no socket, no clock is touched here.

``values``      mementos, datetimes and link headers
``addresses``   where a gateway has what of a URL
``holdings``    what a gateway serves from: a protocol, and its values
"""
