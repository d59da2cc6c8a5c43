"""What the verbs share with ``scrapy tobi`` and ``scrapy obi``: the store that is set."""

from lafka.cli.obis import is_unfilled, the_records, the_store, warn_of_inodes
from lafka.cli.stores import said

__all__ = ["is_unfilled", "said", "the_records", "the_store", "warn_of_inodes"]
