"""The archive: a root folder with paper WARCs and suwafs, written one paper at a time."""
