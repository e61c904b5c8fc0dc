"""`python -m sahcns`, for where the command itself is on no path."""

from sahcns.cli import main

if __name__ == "__main__":
    main()
