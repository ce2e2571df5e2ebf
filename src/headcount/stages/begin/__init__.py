"""How each stage's training begins and ends: one file a kind of training, each with `begin(task) -> Beginning`."""
