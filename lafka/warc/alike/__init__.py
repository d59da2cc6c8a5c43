"""Files that hold what WARCs hold, read as volumes."""
