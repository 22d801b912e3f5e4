"""YAML in, typed and checked; every error says file, line and column."""
