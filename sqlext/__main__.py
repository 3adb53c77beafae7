"""`python -m sqlext`."""

from sqlext.terminal.app import main

if __name__ == "__main__":
    main()
