"""A WARC with its summary: what the stores of papers and of filesets are, and a third can be.

``contents``  the inventory that a scan of the WARC gives, from which a summary is made again, and
              groups of records to append, their places known before a byte is written
``stores``    lock, recover, append, commit, rebuild; what a killed writer left is set aside

A store says what its records mean and how its summary is read and written, no more. Nothing is lost
at any kill: the lock dies with its process, the next writer rolls whole records forward and keeps a
torn tail aside, and only a WARC that was synced is named by a summary (docs/formats.md, "Append").
"""
