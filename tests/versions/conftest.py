"""A folder with files, as the journeys have it."""

from tests.journeys.conftest import offline

__all__ = ["offline"]
