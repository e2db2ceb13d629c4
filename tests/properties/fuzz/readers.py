"""The fuzzed readers. Each reader of data that others may have written has an entry here."""

from __future__ import annotations

from tests.properties.fuzz.configuration_files import FILE_TARGETS
from tests.properties.fuzz.imported_files import IMPORT_TARGETS
from tests.properties.fuzz.query_text import QUERY_TARGETS
from tests.properties.fuzz.saved_files import SAVED_TARGETS
from tests.properties.fuzz.target import Target

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        *FILE_TARGETS,
        *IMPORT_TARGETS,
        *SAVED_TARGETS,
        *QUERY_TARGETS,
    )
}
