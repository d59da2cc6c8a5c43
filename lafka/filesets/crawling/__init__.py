"""Where the walk over a fileset and Scrapy meet; spiders, pipelines and commands stand on it.

``arguments``  the spider's arguments and the settings behind them, parsed once
``lines``      the requests of an input, a line each; ``inbox`` those of a topic
``ingests``    one request from its landing page to its result
``shops``      what all ingests of a run share; ``wires`` how they ask and store
``bases``      mirrors of platforms: which URL is asked for another
``tokens``     what a host wants to see before it gives what is restricted
``failures``   what a failed download says
``answers``    what lies in the raw log of an answer, as the walk wants it
``bundling``   bundles looked into where they came
``downloads``  huge files streamed into parts of items; ``itemstore`` keeps them
``targets``    where items are kept, by the settings; ``holding`` what is held already
``brokers``    topics in and out: ``inbox``, ``publishing``; ``attempts`` counts begins
"""
