"""The promises that a model, a source, a score and a combination make, as checks for anybody's own files.

`check_model(Mine(depth=50.0))` fits and forecasts on a small invented sea and raises AssertionError with the first promise
that is broken, in words.
"""

from ensemble.testing.models import check_model
from ensemble.testing.scores import check_combine, check_score
from ensemble.testing.sea import Basin, Changed, basin_study
from ensemble.testing.sources import check_source

__all__ = ["Basin", "Changed", "basin_study", "check_combine", "check_model", "check_score", "check_source"]
