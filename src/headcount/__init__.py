"""How many attention heads does a translation model need? Three papers, one pipeline."""
