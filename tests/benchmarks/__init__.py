"""What the project promises about speed and memory, each beside a reference in the same run."""

import os

# A program is measured as it is installed: with its bytecode, whatever the machine says of writing.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
