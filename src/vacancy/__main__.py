"""`python -m vacancy` is the command `vacancy`."""

from vacancy.cli import main

main()
