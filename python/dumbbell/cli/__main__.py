"""``python -m dumbbell.cli``: the command line of this very interpreter."""

from dumbbell.cli import main

main()
