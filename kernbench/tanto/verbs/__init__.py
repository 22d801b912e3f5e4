"""The verbs of kernels, written once: what each does and which rows it adds.

`cores` has what they need with numbers, in turn with other kernels: waiting, data, races, messages. `scripts` has what they
need for the times alone, each kernel by itself.
"""
