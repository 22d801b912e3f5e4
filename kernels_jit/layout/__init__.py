"""What the memory of a run holds: records and the numbers that Python and the loop agree on."""
