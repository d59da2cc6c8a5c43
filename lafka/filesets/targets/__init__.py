"""Targets: where an item is kept.

``names``  names of files on a disk, whatever disk it is
``item``   ``item.json``, as the ``internetarchive`` library's ``upload`` takes it
``parts``  a huge file after a break: what to ask for, what an answer means
``target`` what every target can do
``folder`` items in a folder: parts on the disk, final names, what twice was another file
``s3``     items in a bucket: made on the disk, sent file by file, gone from the disk
"""
