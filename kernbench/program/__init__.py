"""The one intermediate form: device programs, and what a legal one is."""
