"""Report files of a sweep, and what the page gets."""
