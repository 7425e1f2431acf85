"""One thread for every library, before any of them is imported; data and fixtures that many tests share."""

import os
import tempfile

from ensemble.execute.threads import hold_one_thread

hold_one_thread()
os.environ.setdefault("ENSEMBLE_CACHE", tempfile.mkdtemp(prefix="ensemble-cache-"))
