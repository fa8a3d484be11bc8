"""``python -m dumbbell``: the command line."""

from dumbbell.cli import main

main()
