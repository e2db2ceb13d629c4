"""Servers that several instances share are asked once, and all instances are told what they say."""

from __future__ import annotations

import threading
from collections.abc import Collection
from concurrent.futures import Future
from dataclasses import dataclass, field

from proxyctl.admin.backend import Account
from proxyctl.admin.backends import ask_nodes
from proxyctl.families import Node
from proxyctl.nodes.model import Said


@dataclass
class SharedAnswers:
    """What servers said, by server and account. To be called from several threads.

    It is we who connect, from the same machine, whichever instance the question is for.
    """

    _said: dict[tuple[Node, Account], Future[Said]] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, nodes: Collection[Node], account: Account) -> dict[Node, Said]:
        """Return what every node says of itself, as `ask_nodes` does."""
        with self._guard:
            new = [node for node in nodes if (node, account) not in self._said]
            for node in new:
                self._said[node, account] = Future()
        try:
            answers = ask_nodes(new, account)
        except BaseException as error:
            for node in new:
                self._said[node, account].set_exception(error)
            raise
        for node, said in answers.items():
            self._said[node, account].set_result(said)
        return {node: self._said[node, account].result() for node in nodes}
