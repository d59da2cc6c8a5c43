"""Targets: where an item is kept; so far what is no I/O.

``names``  names of files on a disk, whatever disk it is
``item``   ``item.json``, as the ``internetarchive`` library's ``upload`` takes it
``parts``  a huge file after a break: what to ask for, what an answer means
"""
