"""The ingests of a crawl: the walk driven by Scrapy; spiders, pipelines and commands stand on it.

``arguments``  the spider's arguments and the settings behind them, parsed once
``lines``      the requests of an input or of a topic, and the counts of their begins
``ingests``    one request from its landing page to its result
``services``   the requests, storing, threads and topics that all ingests of a run share
``tokens``     middlewares: mirrors of platforms, tokens for what is restricted
``answers``    answers and bundles in the raw log as the walk wants them; failed downloads
``downloads``  huge files streamed into parts of items; ``itemstore`` keeps them
"""
