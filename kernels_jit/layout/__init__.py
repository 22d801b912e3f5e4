"""The memory of a run: its records, and the codes shared by Python and the loop."""
