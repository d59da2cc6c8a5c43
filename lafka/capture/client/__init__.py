"""An HTTP/1.1 client that keeps what the wire carries: one request, one answer, byte for byte.

``answers`` reads an answer from bytes, and of its body what anyone reads; ``requests`` says what is
written, both without I/O. ``connections`` are asked and kept, by ``routes`` to sites and through
proxies.
"""
