"""Device programs, the one intermediate form, and the checks of their operands."""
