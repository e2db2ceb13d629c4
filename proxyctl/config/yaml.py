"""YAML text -> Python values that know their places.

This composer reads the events of PyYAML. Loaders of PyYAML lose positions, silently keep the last
of two equal keys and guess at scalars; its C composer ends the process on a text that is nested too
deep. A plain (unquoted) scalar that YAML 1.1 and YAML 1.2 readers take for different values is
refused: `010`, `on` or `12:30:45` never becomes a number or a boolean that nobody wrote.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import yaml
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from proxyctl.config.mistakes import Mistakes, ValueProblem, key_text
from proxyctl.errors import ConfigError
from proxyctl.rows.row import Where

MAX_DEPTH = 100
MAX_ALIASED_NODES = 1_000_000
"""Most nodes that all aliases together may repeat: ten nested aliases can repeat billions."""

_OFF = {"empty_hostgroup": "off", "mode": "OFF", "mysql-default_session_track_gtids": "OFF"}
"""Keys that take this word and never a boolean: under them it is text, as in YAML 1.2."""


class Mark(NamedTuple):
    """A position in a text. Units: both count from 0, as PyYAML's do."""

    line: int = 0
    column: int = 0


_START = Mark()

_Read = TypeVar("_Read")


class YamlMap(dict[str, Any]):
    """A mapping that knows where it begins."""

    __slots__ = ("mark", "marks")
    mark: Mark
    """The place where the mapping begins."""
    marks: dict[str, tuple[Mark, Mark]]
    """The places of each key and of its value, by key."""


class YamlList(list[Any]):
    """A list that knows where it and its items begin."""

    __slots__ = ("mark", "marks")
    mark: Mark
    """The place where the list begins."""
    marks: list[Mark]
    """The place of each item."""


class Unusable:
    """Replaces a refused value. Its mistake is noted already: note no second one."""

    __slots__ = ()


UNUSABLE = Unusable()

YamlNode: TypeAlias = YamlMap | YamlList | Unusable | str | int | float | bool | None


@dataclass(frozen=True)
class Document:
    """One file, read."""

    path: str
    root: YamlNode

    def where(self, keys: Sequence[str | int], *, of_key: bool = False) -> Where:
        """Return the place of the value under `keys`, or of its key.

        Where a key is not in the file, return the nearest place around it.
        """
        value: YamlNode = self.root
        mark: Mark = getattr(value, "mark", _START)
        for step, key in enumerate(keys):
            is_last = step == len(keys) - 1
            if isinstance(value, YamlMap) and key in value:
                of_key_mark, mark = value.marks[str(key)]
                mark = of_key_mark if is_last and of_key else mark
                value = value[str(key)]
            elif isinstance(value, YamlList) and isinstance(key, int) and key < len(value):
                mark, value = value.marks[key], value[key]
            else:
                break
        return _place(self.path, mark)


def _place(path: str, mark: Mark) -> Where:
    return Where(path, mark.line + 1, mark.column + 1)


def read_yaml(text: str, path: str, mistakes: Mistakes) -> Document | None:
    """Return the document in `text`; None after a mistake of syntax. Changes: mistakes."""
    return _read(text, path, mistakes, lambda composer: Document(path, composer.document()))


def read_foreign_yaml(text: str, path: str) -> list[Document]:
    """Return the documents of a file that another program reads, such as a manifest or a play.

    A value that the files of this project must not have is UNUSABLE, and no mistake: `mode: 0644`
    in a play concerns nobody here. Raises: ConfigError for a text that is not YAML.
    """
    mistakes = Mistakes()
    documents = _read(
        text,
        path,
        mistakes,
        lambda composer: [Document(path, root) for root in composer.documents()],
    )
    if documents is None:
        raise ConfigError(mistakes.all()[-1:])  # reading ends at a mistake of syntax
    return documents


def _read(
    text: str, path: str, mistakes: Mistakes, read: Callable[[_Composer], _Read]
) -> _Read | None:
    """Return what `read` makes of the text; None after a mistake of syntax. Changes: mistakes."""
    try:
        return read(_Composer(text, path, mistakes))
    except yaml.MarkedYAMLError as error:
        mark = cast(Mark, error.problem_mark or error.context_mark or _START)
        context = error.context
        if context and error.context_mark and error.context_mark.line != mark.line:
            context += f" that begins at line {error.context_mark.line + 1}"
        words = ", ".join(filter(None, (context, error.problem)))
        fix = _syntax_fix(error.problem or "", text, mark)
        mistakes.add(_place(path, mark), "", f"not YAML: {words}", fix)
    except yaml.reader.ReaderError as error:
        mistakes.add(_place_of_byte(text, path, error.position), "", f"not YAML: {error.reason}")
    except UnicodeEncodeError as error:
        place = _place_of_byte(text[: error.start], path, error.start * 4)
        mistakes.add(place, "", "not YAML: half a surrogate pair is not a character")
    return None


def _syntax_fix(problem: str, text: str, mark: Mark) -> str | None:
    """Return the fix of a frequent mistake; None for others."""
    if problem == "found unknown escape character":
        return "use single quotes: there a backslash is a backslash"
    if problem == "mapping values are not allowed in this context":
        return "quote text that contains a colon and a space"
    if problem != "found character that cannot start any token":
        return None
    line = text.split("\n")[mark.line : mark.line + 1]
    character = line[0][mark.column : mark.column + 1] if line else ""
    if character == "\t":
        return "indent with spaces: YAML allows no tabs there"
    return f"quote text that begins with {character}" if character else None


def _place_of_byte(text: str, path: str, position: int) -> Where:
    """Return the place of a byte of the text: libyaml counts bytes of UTF-8."""
    before = text.encode()[:position].decode(errors="ignore")
    return Where(path, before.count("\n") + 1, len(before) - before.rfind("\n"))


class _Composer:
    """Builds the values of one text from PyYAML's parser events.

    The identity of its class tells the kind of an event: that is the cheapest test.
    """

    def __init__(self, text: str, path: str, mistakes: Mistakes) -> None:
        events: Iterator[Any] = yaml.parse(text, Loader=yaml.CSafeLoader)
        self._next = events.__next__
        self._path = path
        self._mistakes = mistakes
        self._plain: dict[str, YamlNode] = {}
        self._anchors: dict[str, tuple[YamlNode, int]] = {}
        self._keys: list[str | int] = []
        """The keys of the open collections; that of the outermost is empty."""
        self._nodes = 0
        self._aliased = 0

    def document(self) -> YamlNode:
        """Return the value of the only document; None when there is none."""
        self._next()
        if self._next().__class__ is StreamEndEvent:
            return None
        value = self._node(self._next())
        self._next()
        event = self._next()
        if event.__class__ is not StreamEndEvent:
            self._add(event, "a second document in one file", "put it into a file of its own")
        return value

    def documents(self) -> Iterator[YamlNode]:
        """Yield the value of each document."""
        self._next()
        while self._next().__class__ is not StreamEndEvent:
            self._anchors.clear()
            yield self._node(self._next())
            self._next()

    def _add(
        self,
        event: Any,  # noqa: ANN401 - an event of a node
        message: str,
        fix: str | None = None,
        key: str | int = "",
    ) -> None:
        """Note a mistake in the value of `key`, or in the open collection."""
        self._add_at(event.start_mark, message, fix, key)

    def _add_at(self, mark: Mark, message: str, fix: str | None, key: str | int) -> None:
        label = key_text([*self._keys[1:], *([] if key == "" else [key])])
        self._mistakes.add(_place(self._path, mark), label, message, fix)

    def _node(self, event: Any, key: str | int = "") -> YamlNode:  # noqa: ANN401 - an event of a node
        """Return the value that begins with this event, and remember it if it has an anchor.

        `key`: the key of the value, or its position in a list.
        """
        if event.__class__ is AliasEvent:
            return self._alias(event, key)
        anchor, before = event.anchor, self._nodes
        if anchor is not None:
            self._anchors.pop(anchor, None)  # a node cannot refer to its own anchor
        value: YamlNode
        if event.__class__ is ScalarEvent:
            value = self._scalar(event, key)
        else:
            is_mapping = event.__class__ is MappingStartEvent
            self._keys.append(key)
            value = self._mapping(event) if is_mapping else self._sequence(event)
            self._keys.pop()
            if event.tag is not None:
                value = self._tagged(event, key)
        if anchor is not None:
            self._anchors[anchor] = (value, self._nodes - before)
        return value

    def _alias(self, event: Any, key: str | int) -> YamlNode:  # noqa: ANN401 - an AliasEvent
        # The name is not repeated: an unquoted password hash `*94BD...` reads as an alias.
        anchored = self._anchors.get(event.anchor)
        if anchored is None:
            fix = "quote text that begins with an asterisk"
            self._add(event, "an alias without an anchor", fix, key)
            return UNUSABLE
        value, nodes = anchored
        self._nodes += nodes
        self._aliased += nodes
        if self._aliased > MAX_ALIASED_NODES:
            message = f"aliases that stand for more than {MAX_ALIASED_NODES:,} values"
            raise yaml.MarkedYAMLError(problem=message, problem_mark=event.start_mark)
        return value

    def _tagged(self, event: Any, key: str | int) -> YamlNode:  # noqa: ANN401 - an event of a node
        # The tag is not repeated: it may be a password that begins with !.
        self._add(event, "YAML tags are not read", "remove the tag, and quote what is text", key)
        return UNUSABLE

    def _scalar(self, event: Any, key: str | int) -> YamlNode:  # noqa: ANN401 - a ScalarEvent
        self._nodes += 1
        text: str = event.value
        if event.tag is not None:
            return self._tagged(event, key)
        # A quoted scalar is text. An equal plain scalar has the same value again.
        if event.style:
            return text
        if text in self._plain:
            return self._plain[text]
        if _OFF.get(str(key)) == text:
            return text
        try:
            value = plain_value(text)
        except ValueProblem as error:
            self._add(event, error.message, error.fix, key)
            return UNUSABLE
        self._plain[text] = value
        return value

    def _enter(self, event: Any) -> None:  # noqa: ANN401 - a CollectionStartEvent
        self._nodes += 1
        if len(self._keys) > MAX_DEPTH:
            message = f"nested more than {MAX_DEPTH} levels deep"
            raise yaml.MarkedYAMLError(problem=message, problem_mark=event.start_mark)

    def _sequence(self, start: Any) -> YamlList:  # noqa: ANN401 - a SequenceStartEvent
        self._enter(start)
        result, marks = YamlList(), []
        while (event := self._next()).__class__ is not SequenceEndEvent:
            result.append(self._node(event, len(result)))
            marks.append(event.start_mark)
        result.mark, result.marks = start.start_mark, marks
        return result

    def _mapping(self, start: Any) -> YamlMap:  # noqa: ANN401 - a MappingStartEvent
        self._enter(start)
        result = YamlMap()
        marks: dict[str, tuple[Mark, Mark]] = {}
        merged: list[tuple[YamlNode, Any]] = []
        repeated: list[tuple[str, Mark]] = []
        next_event = self._next
        while (event := next_event()).__class__ is not MappingEndEvent:
            key_event, is_scalar = event, event.__class__ is ScalarEvent
            key = sys.intern(event.value) if is_scalar else ""
            if not is_scalar:
                self._node(event)
                self._add(event, "a key must be text")
            event = next_event()
            is_plain = event.__class__ is ScalarEvent and event.anchor is None
            value = self._scalar(event, key) if is_plain else self._node(event, key)
            if key == "<<" and not key_event.style:
                merged.append((value, event))
            elif key in result:
                repeated.append((key, key_event.start_mark))
            elif is_scalar:
                result[key] = value
                marks[key] = (key_event.start_mark, event.start_mark)
        result.mark, result.marks = start.start_mark, marks
        for value, event in merged:
            self._merge(result, value, event)
        for key, again in repeated:
            first, _ = marks[key]
            place = f"line {first.line + 1}, column {first.column + 1}"
            message = f"duplicate key in one mapping (first defined at {place})"
            self._add_at(again, message, None, key)
        return result

    def _merge(self, into: YamlMap, value: YamlNode, event: Any) -> None:  # noqa: ANN401 - of the value
        """Add pairs of `<<:` whose keys the mapping does not have; the first mapping wins."""
        if value is UNUSABLE:
            return
        for source in value if isinstance(value, YamlList) else [value]:
            if not isinstance(source, YamlMap):
                self._add(event, "<< needs a mapping, or a list of mappings")
                return
            self._nodes += len(source)
            for key, item in source.items():
                if key not in into:
                    into[key] = item
                    into.marks[key] = source.marks[key]


# Plain scalars ----------------------------------------------------------------------------------

_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}

_SWITCHES = frozenset(
    form
    for word in ("yes", "no", "on", "off", "y", "n")
    for form in (word, word.title(), word.upper())
)

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_DECIMAL = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?\Z")

_DISPUTED = re.compile(
    r"""[-+]?(?:
        0[0-9_]+(?:\.[0-9]*)?                                             # octal, or decimal
      | 0x[0-9A-Fa-f_]+ | 0o[0-7]+ | 0b[01_]+                             # in other bases
      | [0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?                       # seconds, or text
      | [0-9][0-9_]*_[0-9_]*(?:\.[0-9_]*(?:[eE][-+]?[0-9]+)?)?            # a number, or text
      | (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]+                   # the same
      | \.(?:inf|Inf|INF|nan|NaN|NAN)
    )\Z|=\Z""",
    re.VERBOSE,
)

_MAYBE_SPECIAL = frozenset("0123456789-+.=~nNtTfFyYoO")
_MAX_DIGITS = 400


def plain_value(text: str) -> str | int | float | bool | None:
    """Return the value of a plain scalar. Dates and times stay text.

    Raises: ValueProblem when YAML readers disagree; the message never repeats the text, which may
    be a secret.
    """
    if text and text[0] not in _MAYBE_SPECIAL:
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text in _SWITCHES:
        raise ValueProblem(
            "a boolean to some YAML readers and text to others",
            "quote it if it is text, or write true or false",
        )
    if _INTEGER.match(text):
        if len(text) > _MAX_DIGITS:
            raise ValueProblem("a number with too many digits", "quote it if it is text")
        return int(text)
    if _DECIMAL.match(text):
        if str(float(text)) != text:
            message = "a decimal number that YAML readers write back differently"
            raise ValueProblem(message, "quote it if it is text")
        return float(text)
    if _DISPUTED.match(text):
        raise ValueProblem(
            "one value to some YAML readers and another to others",
            "quote it if it is text, or write a number in decimal digits",
        )
    return text
