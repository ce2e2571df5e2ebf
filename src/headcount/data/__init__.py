"""Text to batches: sources, cleaning, split, subwords, encoded pairs."""
