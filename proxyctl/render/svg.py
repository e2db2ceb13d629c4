"""A chart of pygal as SVG that stands in a page: without script, style and ids of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as Xml

from proxyctl.text import printable

_NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def short(text: str, limit: int) -> str:
    """Return the beginning of a text from a server, safe to show and to parse as XML."""
    safe = _NO_XML.sub("\N{REPLACEMENT CHARACTER}", printable(text[:limit]))
    return safe if len(text) <= limit else f"{safe}…"


def svg_of(
    chart: Any,  # noqa: ANN401
    title: str,
    classes: Sequence[str] = (),
    label: Callable[[Xml.Element], None] | None = None,
) -> str:
    """Return a chart as SVG that stands in a page.

    pygal's own style and script are for a file of their own and are taken out; what its script
    would show beside the pointer becomes the SVG's own title elements. `classes` are those of the
    series, in their order.
    """
    text = _NO_XML.sub("", chart.render(is_unicode=True, disable_xml_declaration=True))
    root = Xml.fromstring(text)  # noqa: S314  # written by the library one line above
    for element in root.iter():
        element.tag = element.tag.partition("}")[2]
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": title}
    _without(root, lambda e: e.tag in ("defs", "title") or "tooltip" in classes_of(e))
    colours = {f"serie-{number}": name for number, name in enumerate(classes)}
    for element in list(root.iter()):
        _with_title(element)
        _coloured(element, colours)
    if label:
        label(root)
    return Xml.tostring(root, encoding="unicode", method="html")


def classes_of(element: Xml.Element) -> list[str]:
    """Return the classes of an element."""
    return element.attrib.get("class", "").split()


def _without(parent: Xml.Element, is_unwanted: Callable[[Xml.Element], bool]) -> None:
    for child in list(parent):
        if is_unwanted(child):
            parent.remove(child)
        else:
            _without(child, is_unwanted)


def _with_title(element: Xml.Element) -> None:
    """Turn the descriptions of a mark, which are for a script, into one title."""
    notes = [child for child in element if child.tag == "desc"]
    if not notes:
        return
    by_kind = {next(iter(classes_of(note)), ""): note.text or "" for note in notes}
    for note in notes:
        element.remove(note)
    title = Xml.Element("title")
    title.text = "\n".join(by_kind[kind] for kind in ("label", "value") if by_kind.get(kind))
    element.insert(0, title)


def _coloured(element: Xml.Element, colours: Mapping[str, str]) -> None:
    found = next((colours[name] for name in classes_of(element) if name in colours), None)
    if found:
        element.set("class", f"series {found}")
