"""Work that comes from and goes to servers, for whichever wing needs them.

``database``  the tables of ingest results, in SQLite or PostgreSQL: plain SQL that both understand
``lines``     lines of files and pipes, in batches; messages of which nothing can be made, in a file
``kafka``     topics, a consumer in a thread of its own, a producer that waits for its answers

``psycopg`` and ``confluent_kafka`` are imported when they are used: the extras
``lafka[postgresql]`` and ``lafka[kafka]``.
"""
