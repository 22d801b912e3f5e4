"""The kernel language: source text, types, the methods of built-in objects, and translation to Python functions."""
