"""One file for each head score: `score_heads(model, corpus, *, seed)`, a higher score is kept."""
