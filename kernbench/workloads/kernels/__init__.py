"""Kernels of the operators of a network, in `tl`, and where their tensors lie.

Activations have a row for each feature and a column for each token, so that a range of features is one range of addresses.
A tensor OVER_PES has a block of rows in the memory of each PE of the SIP. A tensor IN_CUBES is whole in each cube, its rows
over the PEs of the cube: what all PEs read is spread to the cubes once, and then read from near by.
"""
