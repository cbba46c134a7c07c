"""Endpoints of the rules: explanations and the matrix."""

from .explaining import routes as explaining
from .matrix import routes as matrix

__all__ = ["explaining", "matrix"]
