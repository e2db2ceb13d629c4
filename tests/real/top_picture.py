"""The picture of top in the documentation: `python -m tests.real.top_picture`."""

from __future__ import annotations

import asyncio
import re
import tempfile
from pathlib import Path

from proxyctl.cli.top.app import TopApp
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from tests.real.sysbench_rig import sysbench_rig
from tests.support.mariadb_server import running_sysbench

PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "top.svg"
_FONT_OF_THE_NETWORK = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)


def main() -> None:
    """Draw it: 80 by 24, after some seconds of traffic."""
    with (
        tempfile.TemporaryDirectory() as name,
        sysbench_rig(Path(name)) as (server, _),
        running_sysbench(server.traffic_port, "--threads=4", "--rate=60"),
    ):
        login = Login(port=server.port, password="admin", name="shop")
        drawn = asyncio.run(_drawn(TopApp(AdminClient(login), 2.0)))
    PICTURE.write_text(self_contained(drawn), encoding="utf-8")


async def _drawn(app: TopApp) -> str:
    async with app.run_test(size=(80, 24)):
        await asyncio.sleep(20)
        return app.export_screenshot()


def self_contained(svg: str) -> str:
    """Return the picture without fonts of the network."""
    return _FONT_OF_THE_NETWORK.sub("", svg).replace("Fira Code, monospace", "monospace")


if __name__ == "__main__":
    main()
