"""What commands print and write: sentences, tables, progress, files."""
