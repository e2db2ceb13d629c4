"""The fuzzed readers. Each reader of data that others may have written has an entry here."""

from __future__ import annotations

from tests.fuzz.configuration_files import FILE_TARGETS
from tests.fuzz.imported_files import IMPORT_TARGETS
from tests.fuzz.query_text import QUERY_TARGETS
from tests.fuzz.saved_files import SAVED_TARGETS
from tests.fuzz.target import Target

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        *FILE_TARGETS,
        *IMPORT_TARGETS,
        *SAVED_TARGETS,
        *QUERY_TARGETS,
    )
}
