"""ArchEc: a dark archive of RePEc's templates and of the files that they point at."""
