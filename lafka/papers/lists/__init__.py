"""The list: futlis and exclude files read, kept on disk, handed out by host."""
