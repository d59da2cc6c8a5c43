"""Files that templates name (fobis): when they are due, what came, how they are kept."""
