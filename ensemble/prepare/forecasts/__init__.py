"""Forecast files of any layout, as one table of starts and leads."""
