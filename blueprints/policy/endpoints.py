"""What is served: the rules and explanations of them, the matrix, and explanations of recorded decisions."""

from .explaining import routes as explaining
from .matrix import routes as matrix
from .recorded import routes as recorded

__all__ = ["explaining", "matrix", "recorded"]
