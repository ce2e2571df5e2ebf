"""Training: a loop that knows no method, exact resume, and the folder of a run."""
