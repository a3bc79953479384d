"""The command line as `python -m firstlight`, for when no script is installed."""

from firstlight.cli import command

if __name__ == "__main__":
    command()
