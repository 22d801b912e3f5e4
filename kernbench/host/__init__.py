"""The torch-shaped host: what the code of a bench sees of the machine."""
