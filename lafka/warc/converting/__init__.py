"""From one file to another: ARC and WARC, repaired, recompressed."""
