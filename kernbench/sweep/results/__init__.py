"""The table of a sweep: rows kept on disk, derived columns, Pareto fronts, comparisons."""
