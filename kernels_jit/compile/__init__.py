"""How loops are compiled, where machine code is kept, and how compiled code reaches memory."""
