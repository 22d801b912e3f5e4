"""Names on the command line: what they are, what Tab offers, what `--set` says."""
