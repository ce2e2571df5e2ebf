"""The Transformer, its attention, its gates, and what is done to its heads."""
