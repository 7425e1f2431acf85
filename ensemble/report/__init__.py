"""What people look at."""
from ensemble.report.plots import Plots
from ensemble.report.page import write_report
__all__ = ["Plots", "write_report"]
