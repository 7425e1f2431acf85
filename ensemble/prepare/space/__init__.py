"""Grids and places: order, conventions, sameness, regridding."""
