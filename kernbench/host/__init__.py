"""The torch-shaped host: what a bench's own code sees of the machine."""
