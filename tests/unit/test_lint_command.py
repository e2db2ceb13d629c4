"""The command lint on an instance; `golden/pages/lint.md` shows what it says of files."""

from __future__ import annotations

from proxyctl.errors import ExitCode
from tests.support.cli import proxyctl

FILE = """mysql_query_rules:
  - {rule_id: 10, match_digest: '^SELECT', destination_hostgroup: 2, apply: 1}
  - {rule_id: 20, match_digest: '^SELECT .* FROM sbtest1', destination_hostgroup: 1, apply: 1}
"""


def test_an_instance(offline, sandbox_instance):
    offline.write(FILE)
    offline.connect(sandbox_instance)
    assert proxyctl("apply", "--auto-approve").code == ExitCode.DONE
    host = sandbox_instance.host
    lint = ("lint", "--select", "PX1", "--select", "PX2", "--host", host)
    found = proxyctl(*lint)
    first = f"{host}:{sandbox_instance.port}: rule 20: PX201 [error] never reached: rule 10"
    assert first in found.out
    assert found.code == ExitCode.ERROR
    # What the files ignore is ignored there as well.
    offline.write(f"{FILE}lint: {{ignore: [PX2]}}\n")
    assert "PX201" not in proxyctl(*lint).out
    (finding,) = proxyctl(*lint, "--format", "json").json["findings"]
    assert finding["where"] is None
