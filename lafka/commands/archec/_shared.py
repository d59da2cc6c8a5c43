"""What the verbs share with ``scrapy tobi`` and ``scrapy obi``: the store that is set."""

from lafka.cli.obis import the_records, the_store, to_be_filled, warn_of_inodes
from lafka.cli.stores import said

__all__ = ["said", "the_records", "the_store", "to_be_filled", "warn_of_inodes"]
