"""A run over RePEc data: its sources, what it found, what is lost, what it keeps."""
