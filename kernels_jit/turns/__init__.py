"""Kernels run in turn by what they do to pipes and semaphores alone."""
