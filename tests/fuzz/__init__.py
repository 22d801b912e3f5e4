"""The fuzzer: inputs that strangers might give, made from those that come with KernBench, run through the command line.

`python -m tests.fuzz --seconds 60` draws inputs of every kind (`kinds`), runs each in a worker process (`worker`, `execution`),
judges what came of it (`verdict`), makes the first input of each finding smaller (`shrink`), and keeps it as a file that
`--case FILE` runs again.

An input is known by its kind and seed, as a program of `tests.engine.soak` is. Hypothesis is not used: it shrinks by calling
the test in its own process, which the inputs searched for end, hang, or fill; and its draws differ from version to version.
"""
