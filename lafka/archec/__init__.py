"""ArchEc: a dark archive of RePEc's templates and of the files that they point at.

The Fort Lee paper is its source. An *obi* is anything that has a URL or a RePEc handle; a *tobi*
is a template as it stands in RePEc data; a *fobi* is what a ``File-URL`` points at.
"""
