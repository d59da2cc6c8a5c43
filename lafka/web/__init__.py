"""Web pages over an archive, read only: papers, captures and trails, and the bytes themselves.

Two origins, so that what others wrote is never taken for ours: the first has our pages and the
API, the second the bytes of others. A third has ReplayWeb.page, where the operator unpacked it.

``site``      the archive, its index, what is withheld, the two origins
``app``       ASGI: which origin is asked, guards, routes, refusals
``answers``   answers with the headers that each origin's have
``pages``     our pages, from ``templates/``; no script, no cookie
``api``       the same as JSON, with an OpenAPI document
``telling``   what pages and API tell of a paper, a run, a host: frozen values from the index
``held``      PDFs by Range straight from the WARC, paper WARCs, WACZ made as it is sent
``splaps``    archived pages, shut in: a neutral copy, no script, no request
``neutral``   how that copy is made, in child processes with bounds
``comparison`` the texts of two versions, compared in child processes with bounds
``captures``  captures by URL and time, from the index of paper WARCs
``mementos``  TimeGate, mementos, TimeMaps (RFC 7089)
``replayweb`` ReplayWeb.page, another's program, at an origin of its own
``tokens``    addresses that nobody guesses and that soon end
``cdx``       a CDX server with the parameters of pywb and OutbackCDX

Nothing here writes, and nothing that crawls imports it. starlette, uvicorn, jinja2 and nh3 are the
extra ``lafka[web]``.
"""
