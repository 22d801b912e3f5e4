"""The op log of a run: one row for each operation, and the utilisation of parts."""
