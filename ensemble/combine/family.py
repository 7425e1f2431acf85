"""Distributions that a location and a scale make others of: what a forecast can wear, and what it costs to be wrong in it.

X = location + scale Z, with Z of mean 0. Closed forms of the continuous ranked probability score are those of Jordan, Krueger
and Lerch (2019), doi 10.18637/jss.v090.i12, appendix A. In a censored distribution all that is below zero has become zero.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, logit, ndtr, ndtri

from ensemble.task import Array

ROOT_PI = np.sqrt(np.pi)


class Curve(NamedTuple):
    """A function at some points, its slope and its curvature."""

    value: Array
    slope: Array
    bend: Array


class Family(abc.ABC):
    """The distribution of Z; z of any shape."""

    deviation: float  # the standard deviation of Z
    distance: float  # E|Z - Z'| / 2 of two that are independent

    @abc.abstractmethod
    def cdf(self, z: Array) -> Array:
        """F(z)."""

    @abc.abstractmethod
    def density(self, z: Array) -> Array:
        """f(z)."""

    @abc.abstractmethod
    def quantile(self, level: Array) -> Array:
        """The z at which F is `level`."""

    @abc.abstractmethod
    def below(self, z: Array) -> Array:
        """The integral of F up to z, which is E max(z - Z, 0), and E max(z + Z, 0) as well, for f is even."""

    @abc.abstractmethod
    def squared_below(self, z: Array) -> Array:
        """The integral of F^2 up to z: what censoring at z takes off the score."""

    @abc.abstractmethod
    def surprise(self, z: Array) -> Curve:
        """-log f(z)."""

    @abc.abstractmethod
    def surprise_below(self, z: Array) -> Curve:
        """-log F(z)."""

    def crps(self, z: Array) -> Array:
        """Continuous ranked probability score of Z at z: E|Z - z| - E|Z - Z'| / 2."""
        score: Array = 2 * self.below(z) - z - self.distance
        return score


class Normal(Family):
    """The standard normal distribution."""

    deviation = 1.0
    distance = 1 / ROOT_PI

    def cdf(self, z: Array) -> Array:
        return ndtr(z)

    def density(self, z: Array) -> Array:
        density: Array = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
        return density

    def quantile(self, level: Array) -> Array:
        return ndtri(level)

    def below(self, z: Array) -> Array:
        return z * ndtr(z) + self.density(z)

    def squared_below(self, z: Array) -> Array:
        cdf = ndtr(z)
        integral: Array = z * cdf**2 + 2 * self.density(z) * cdf - ndtr(z * np.sqrt(2)) / ROOT_PI
        return integral

    def surprise(self, z: Array) -> Curve:
        return Curve(0.5 * z**2 + 0.5 * np.log(2 * np.pi), z, np.ones_like(z))

    def surprise_below(self, z: Array) -> Curve:
        log = log_ndtr(z)
        ratio = np.exp(-0.5 * z**2 - 0.5 * np.log(2 * np.pi) - log)  # f / F
        return Curve(-log, -ratio, ratio * (z + ratio))


class Logistic(Family):
    """The standard logistic distribution, F(z) = 1 / (1 + exp(-z)): heavier tails."""

    deviation = np.pi / np.sqrt(3)
    distance = 1.0

    def cdf(self, z: Array) -> Array:
        return expit(z)

    def density(self, z: Array) -> Array:
        density: Array = expit(z) * expit(-z)
        return density

    def quantile(self, level: Array) -> Array:
        return logit(level)

    def below(self, z: Array) -> Array:
        return -log_expit(-z)

    def squared_below(self, z: Array) -> Array:
        return -log_expit(-z) - expit(z)

    def surprise(self, z: Array) -> Curve:
        return Curve(-log_expit(z) - log_expit(-z), 2 * expit(z) - 1, 2 * self.density(z))

    def surprise_below(self, z: Array) -> Curve:
        return Curve(-log_expit(z), -expit(-z), self.density(z))


FAMILIES: Mapping[str, Family] = {"normal": Normal(), "logistic": Logistic()}
