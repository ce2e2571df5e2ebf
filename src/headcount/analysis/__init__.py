"""Run folders in, tidy tables out; free of torch."""
