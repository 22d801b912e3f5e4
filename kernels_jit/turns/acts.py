"""What kernels do where they meet in pipes and semaphores, and the columns of the tables of `run_in_turn`."""

# Acts on a pipe: a number of tiles, and the count of the other side that the kernel's row waits for.
RESERVE = 0  # wait for room
PUSH = 1
AWAIT = 2  # wait for tiles
POP = 3
# Acts on a semaphore: a value, or for COPY the semaphore that has it.
SET = 4
INCREASE = 5
COPY = 6
MEET = 7  # wait for a value

# int64[act, 4]
ACT, OBJECT, AMOUNT, EXPECTED = range(4)
# int64[kernel, 5]: its acts, the first of its objects, the first of its places in `met`, and whether it computes
FIRST, END, OBJECTS, MET, IS_MATH = range(5)
# int64[part, 3] of a pipe or semaphore on a core
TILES, PUSHED, POPPED = VALUE, SINCE, CHANGES = range(3)
