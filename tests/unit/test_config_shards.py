"""The `sharding` section in files."""

import time

from tests.unit.config_files import load


def test_a_mapping_of_many_names_is_no_reason_to_wait(tmp_path):
    names = "".join(f"      s{number}: a\n" for number in range(20_000))
    started = time.process_time()
    project = load(
        tmp_path,
        f"version: 1\nhostgroups: {{a: {{id: 1}}}}\nsharding:\n  - name: t\n    schemas:\n{names}",
    )
    assert time.process_time() - started < 2.5
    assert len(project.desired.tables["mysql_query_rules_fast_routing"].rows) == 20_000
