"""Rows of text as a table."""

from collections.abc import Sequence


def in_columns(rows: Sequence[Sequence[str]], *, left: int) -> str:
    """Return lines with aligned columns; the first `left` of them begin at the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
