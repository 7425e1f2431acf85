"""What people look at: figures, and one page that holds them beside the tables and what must be known to read them.

`look` says how a model looks in every figure, `leads` how lead times are called, `standing` who is ahead, `words` how numbers and
periods are written; `plots`, `maps` and `diagrams` draw, `probabilities` knows which diagrams of members there are and lays them out;
`tables`, `overview`, `combining`, `seasons`, `samples` and `remarks` are the parts of the page, and `page` writes it.
Nothing here computes a score.
"""

from ensemble.report.page import write_report
from ensemble.report.plots import Plots

__all__ = ["Plots", "write_report"]
