"""Records into files: groups, names, sizes, compression, segments."""
