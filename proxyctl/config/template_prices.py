"""What the code of a template costs in steps, written into the code before it is compiled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from jinja2 import Environment, nodes
from jinja2.visitor import NodeTransformer

_NODES_PER_STEP = 3
_NODES: dict[type[nodes.Node], int] = {
    nodes.AssignBlock: 10,
    nodes.Getattr: 4,
    nodes.Block: 20,
    **dict.fromkeys((nodes.Extends, nodes.FromImport, nodes.Import, nodes.Include), 60),
}
"""What takes as long as so many of the other nodes of a template."""

STEP, JOIN, KEEP, WEIGH, SPEND = "(step)", "(join)", "(keep)", "(weigh)", "(spend)"
"""Filters of our own. No template can name them."""


class Counting(NodeTransformer):
    """Leads what grows without a call through our own filters, and lets a body tell its length."""

    def visit_Template(self, node: nodes.Template) -> nodes.Node:  # noqa: N802 - Jinja2's name
        """Count what a file does when it is included."""
        return self._with_price(node)

    def visit_Block(self, node: nodes.Block) -> nodes.Node:  # noqa: N802
        """Count what a block does."""
        return self._with_price(node)

    def visit_Macro(self, node: nodes.Macro) -> nodes.Node:  # noqa: N802
        """Count what a macro does."""
        return self._with_price(node)

    def visit_CallBlock(self, node: nodes.CallBlock) -> nodes.Node:  # noqa: N802
        """Count what `caller()` does."""
        return self._with_price(node)

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802
        """Count the turns of a loop, and what each of them does."""
        price = _price(() if node.test is None else (node.test,))
        node = cast(nodes.For, self._with_price(node))
        node.iter = _through(STEP, node.iter, node)
        if node.test is not None and price:
            node.test = nodes.And(_spending(price, node), node.test, lineno=node.lineno)
        return node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        """Weigh what is compared, and what is looked through for it."""
        node = cast(nodes.Compare, self.generic_visit(node))
        node.expr = _through(WEIGH, node.expr, node)
        for operand in node.ops:
            operand.expr = _through(WEIGH, operand.expr, node)
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        """Weigh what a slice copies."""
        is_slice = isinstance(node.arg, nodes.Slice)
        node = cast(nodes.Getitem, self.generic_visit(node))
        return _through(WEIGH, node, node) if is_slice else node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        """Measure `~`."""
        node = cast(nodes.Concat, self.generic_visit(node))
        return _through(JOIN, nodes.List(node.nodes, lineno=node.lineno), node)

    def visit_AssignBlock(self, node: nodes.AssignBlock) -> nodes.Node:  # noqa: N802
        """Measure what `{% set x %}...{% endset %}` caught."""
        node = cast(nodes.AssignBlock, self.generic_visit(node))
        node.filter = _through(KEEP, node.filter, node)
        return node

    def _with_price(self, node: Any) -> nodes.Node:  # noqa: ANN401 - whatever has a body
        """Let the body begin with counting the steps that it takes without a loop or a call."""
        price = _price(node.body)
        node = self.generic_visit(node)
        if price:
            spend = nodes.ExprStmt(_spending(price, node), lineno=node.lineno)
            node.body = [spend, *node.body]
        return cast(nodes.Node, node)


_HAVE_PRICE = (nodes.Block, nodes.CallBlock, nodes.For, nodes.Macro)


def _price(found: Iterable[nodes.Node]) -> int:
    """Return how many steps it takes to go through the nodes once."""
    return sum(map(_weight, found)) // _NODES_PER_STEP


def _spending(steps: int, at: nodes.Node) -> nodes.Filter:
    """Return the node that counts so many steps, and is true."""
    spend = _through(SPEND, nodes.Const(True, lineno=at.lineno), at)
    spend.args = [nodes.Const(steps, lineno=at.lineno)]
    return spend


def _weight(node: nodes.Node) -> int:
    """Return how many nodes there are, but for those that have a price of their own."""
    own = _NODES.get(type(node), 1)
    if isinstance(node, _HAVE_PRICE):
        return own
    return own + sum(map(_weight, node.iter_child_nodes()))


def _through(name: str, value: nodes.Node | None, at: nodes.Node) -> nodes.Filter:
    """Return the node that gives the value to a filter, in the place of another node."""
    made = nodes.Filter(cast(nodes.Expr, value), name, [], [], None, None, lineno=at.lineno)
    made.set_environment(cast(Environment, at.environment))
    return made
