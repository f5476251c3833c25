"""``python -m transom``: the command line."""

from transom.cli import main

if __name__ == "__main__":
    main()
