"""What a run costs in joules: counts of actions times prices, found from the rows of a program after it has run."""
