"""How fast headcount is beside other toolkits; `make bench` runs it. Not part of the installed package."""
