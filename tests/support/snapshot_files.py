"""Files of digest snapshot that say of themselves what a test needs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path


def change_header(path: Path, **changed: object) -> None:
    """Change what a snapshot says of itself, such as `taken_at`; packed or plain, it stays so."""
    held = path.read_bytes()
    is_packed = not held.startswith(b"{")
    first, rest = (gzip.decompress(held) if is_packed else held).split(b"\n", 1)
    text = json.dumps({**json.loads(first), **changed}).encode() + b"\n" + rest
    path.write_bytes(gzip.compress(text) if is_packed else text)
