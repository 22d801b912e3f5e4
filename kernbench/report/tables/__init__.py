"""Tables on the terminal and in files."""
