"""One verb a file: argument, call, print. Results go to stdout, the rest to stderr."""
