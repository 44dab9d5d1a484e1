"""`python -m sim`: the command line, from a checkout in which nothing is installed."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
