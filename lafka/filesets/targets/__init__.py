"""Targets: where an item is kept.

``names``  names of files on a disk, whatever disk it is
``item``   ``item.json``, as the ``internetarchive`` library's ``upload`` takes it
``parts``  a huge file after a break: what to ask for, what an answer means
``folder`` items in a folder: parts on the disk, final names, what twice was another file
"""
