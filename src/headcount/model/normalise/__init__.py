"""One file per mapping from attention scores to weights; its file name is its name in the config."""
