"""Plain-Python twins of the compiled code: slow, obvious, checkable by eye."""
