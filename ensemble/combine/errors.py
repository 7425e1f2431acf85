"""What chunks of past forecasts have to say about errors: sums over starts of means over area, that add up.

A point counts where all models and the truth have a value, so that models are compared on the same points; nothing is put in
place of what is missing. Sums come with the mass they stand for: a start with all its points has the mass 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensemble.chunk import Chunk
from ensemble.sums import Sum
from ensemble.task import Array


class Past(NamedTuple):
    """Forecasts of a chunk beside the truth, at the points of the field."""

    forecast: Array  # (model, init_time, lead_time, point)
    truth: Array  # (init_time, lead_time, point)
    there: Array  # (init_time, lead_time, point): whether all models and the truth have a value
    area: Array  # (point,), adding up to one


def past_of(chunk: Chunk) -> Past:
    """What a chunk of past forecasts holds."""
    field = chunk.domain.fields["forecast"]
    points, area = field.mask[0], field.area[0]
    forecast, truth = chunk.data["forecast"].values[..., points], chunk.data["truth"].values[..., points]
    return Past(forecast, truth, ~(np.isnan(truth) | np.isnan(forecast).any(0)), area[points] / area.sum())


def errors(past: Past) -> Array:
    """(model, init_time, lead_time, point), 0 at points that do not count."""
    error: Array = past.forecast - past.truth
    return error if past.there.all() else np.where(past.there, error, 0)


def mass(past: Past) -> Array:
    """(lead_time,): the starts, each with the share of its area that counts."""
    whole = past.there.all(-1)
    if whole.all():
        return np.full(whole.shape[1], float(whole.shape[0]))
    share: Array = np.where(whole, 1.0, past.there @ past.area).sum(0)
    return share


def squared_errors(chunk: Chunk) -> Sum:
    """Squared errors (model, lead_time), and their mass."""
    past = past_of(chunk)
    return Sum((((errors(past) ** 2) @ past.area).sum(1), mass(past)))


def error_products(chunk: Chunk) -> Sum:
    """Products of the errors of any two models (model, model, lead_time), and their mass.

    With weights w that add up to one the squared error of the weighted mean is w'Pw, so these are all that the normal
    equations between models and truth have to say about it.
    """
    past = past_of(chunk)
    error, root = errors(past), np.sqrt(past.area)
    models, starts, leads = error.shape[:3]
    products = np.zeros((leads, models, models))
    for start in range(starts):  # one at a time, so that there is no second array of all errors
        one = (error[:, start] * root).transpose(1, 0, 2)
        products += one @ one.transpose(0, 2, 1)
    return Sum(((products + products.transpose(0, 2, 1)).transpose(1, 2, 0) / 2, mass(past)))


def squares(state: Array) -> Array:
    """(model, lead_time): the squared errors among products of errors (model, model, lead_time); these as they are."""
    return np.einsum("iil->il", state) if state.ndim == 3 else state
