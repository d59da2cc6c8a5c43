"""Where the walk over a fileset and Scrapy meet; spiders, pipelines and commands stand on it.

``arguments``  the spider's arguments and the settings behind them, parsed once
``lines``      the requests of an input, a line each
``bases``      mirrors of platforms: which URL is asked for another
``tokens``     what a host wants to see before it gives what is restricted
``targets``    where items are kept, by the settings
``failures``   what a failed download says
``answers``    what lies in the raw log of an answer, as the walk wants it
``ingests``    one request from its landing page to its result
``downloads``  huge files streamed into parts of items
"""
