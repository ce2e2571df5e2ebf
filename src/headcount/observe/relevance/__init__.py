"""How much of what a model writes comes from each head: relevance, gradients and ablation of one set of sentences."""
