"""The entry of the command line, also of `python -m kernbench`. It imports the rest where Ctrl-C is already heard."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line; returns the exit code. Ctrl-C during the imports ends it as later: 130, one sentence."""
    try:
        from kernbench.errors import uncover_interruption

        with uncover_interruption():
            from kernbench.cli.main import main as run
            from kernels_jit.compile.aside import leave

        code = run()
        leave(code)
        return code
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        return 130
    finally:
        # Python notes Ctrl-C in a string that is executed as not handled, though a caller handles it, and ends `python -m` by
        # SIGINT then, whatever the exit code. The next string begins anew; imports of libraries execute many.
        exec("")


if __name__ == "__main__":
    sys.exit(main())
