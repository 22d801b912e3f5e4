"""The second pass: what a program computes, from its notes and the times of a run."""
