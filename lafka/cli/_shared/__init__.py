"""Parts that verbs share; base classes of commands say that they are of this package.

Scrapy imports each module below ``COMMANDS_MODULE`` and takes every class of a command for a verb
whose ``__module__`` is that module: a base class must not be one.
"""
