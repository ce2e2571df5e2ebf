"""The verbs of the command line: files in, files out, around the core."""
