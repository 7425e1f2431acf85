"""What people look at."""
from ensemble.report.page import write_report
from ensemble.report.plots import Plots

__all__ = ["Plots", "write_report"]
