"""`ensemble` and `python -m ensemble`."""

from __future__ import annotations

from ensemble.cli import main as main

if __name__ == "__main__":
    main()
