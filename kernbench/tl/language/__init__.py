"""What a kernel calls: the functions of `tl`, their handles, types and sentences."""
