"""Dates, steps and intervals of any calendar."""
