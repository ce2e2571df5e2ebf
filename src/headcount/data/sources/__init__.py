"""Corpus sources, one file each: `read` the pairs, and say whether they are `reachable`."""
