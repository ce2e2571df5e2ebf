"""What the papers say, and whether our tables agree; free of torch."""
