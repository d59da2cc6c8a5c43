"""The strict reader of WARCs, which proofs stand on. It shares no code with any writer.

``reader`` frames records, ``headers`` reads what they say by the tables of the standard, ``blocks``
finds the PDF in one, ``digests`` proves its bytes and undoes what a server did to a fut,
``problems`` has the codes of what can be wrong. Nothing else of Lafka is imported here.
"""
