"""What a model's attention heads do over a corpus: per-head summaries, never raw maps."""
