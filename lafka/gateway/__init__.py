"""Gateways: what was kept of URLs and handles, served read-only by Memento (RFC 7089).

``scrapy archec serve`` serves an obi store, ``scrapy gateway`` a list with files: the same
addresses, so that ``scrapy crawl futli -a legacy=URL`` knows one kind of gateway.

``memento``     datetime negotiation, Link header, TimeMaps: pure, no web, no store
``addresses``   what a path names: an id escaped once or as it is, a tist, a page
``ranges``      which bytes of a representation are asked for, and whether they changed
``holdings``    what a gateway serves from: a protocol, and its values
``app``         the addresses as an ASGI application; Starlette
``connections`` HTTP/1.1 with bounds on what a client can hold up; uvicorn over httptools
``serving``     on a socket
``listed``      holdings of a list with files

Whoever has a store of its own writes holdings; nothing here knows one. Starlette, uvicorn and
httptools are the extra ``lafka[web]``, known to ``app``, ``connections`` and ``serving`` alone.
"""
