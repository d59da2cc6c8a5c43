"""Proves an obi store sound, by other code than what wrote it: nothing is shared but errors.

Each rule of the design is written here a second time: places, names, text, the fold of journals.
The text of pages is not: its bytes are proved by their SHA-256.
"""

from lafka.archec.checking.stores import check_store as check_store
