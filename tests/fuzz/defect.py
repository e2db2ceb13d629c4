"""A defect that fuzzing found, and the input that shows it."""

from __future__ import annotations

import hashlib
import traceback
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Defect:
    """Shape: two defects with the same `sign` are taken for one."""

    sign: str
    text: str
    data: bytes

    @classmethod
    def of(cls, error: BaseException, data: bytes) -> Defect:
        """Return the defect that an exception shows: its kind, and the last places it passed."""
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if "/proxyctl/" in frame.filename]
        places = (f"{Path(frame.filename).name}:{frame.lineno}" for frame in (ours or frames)[-1:])
        text = "".join(traceback.format_exception(error))
        return cls(f"{type(error).__name__} at {' '.join(places)}", text, data)

    def save(self, folder: Path) -> Path:
        """Write the input and what happened beside it, once for each sign. Return its path."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / hashlib.sha256(self.sign.encode()).hexdigest()[:12]
        if not path.exists():
            path.write_bytes(self.data)
            path.with_suffix(".txt").write_text(f"{self.sign}\n\n{self.text}", errors="replace")
        return path
