"""Model sheets and the values of fields, with their sources."""
