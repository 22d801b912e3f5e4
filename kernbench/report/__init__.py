"""What people read of a sweep: tables on the terminal, plots on paper. Everything is made from the table alone."""
