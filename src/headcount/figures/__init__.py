"""Tidy tables in, figures and tables for people out; one file each; free of torch."""
