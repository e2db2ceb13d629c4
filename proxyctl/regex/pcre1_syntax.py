r"""PCRE1 8.x syntax, written out for PCRE2.

ProxySQL matches with PCRE1; Python has PCRE2. The two share most syntax, but each reads some things
that the other refuses or takes otherwise: `[\w-.]`, `\m`, `a{,3}`, `(?n)`, a look-behind without a
fixed length. So a pattern is read as PCRE1 reads it, and written so that PCRE2 has no choice: no
comments, no callouts, no white space to skip, each unusual byte as `\xhh`, calls of groups atomic.

Source: the man pages of both, and some 400,000 generated patterns compared with PCRE 8.45 as
ProxySQL builds it: bytes, no UTF-8, no Unicode properties, no JIT.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from proxyctl.regex import pcre1_tokens as tokens
from proxyctl.regex.bad_pattern import BadPattern
from proxyctl.regex.pcre1_escapes import (
    NO_SUCH_GROUP,
    NO_UNICODE,
    Escape,
    Means,
    count,
    literal,
    read_class,
    read_escape,
    small,
)
from proxyctl.regex.pcre1_lengths import Branch, Kind, Part, is_fixed, may_be_empty
from proxyctl.regex.pcre1_reader import Reader


@dataclass(slots=True)
class _Group:
    """A group that is open."""

    part: Part
    opening: int
    """Index of the piece that was written for its start."""
    start: int
    captures: int
    """How many capturing groups began before it, and in the longest of its alternatives."""
    options: tuple[bool, bool]
    """Whether (?x) and (?X) were on outside of it."""
    text: bytes = b""
    most: int = 0
    number: int | None = None
    name: bytes = b""
    is_condition: bool = False
    """The look-around between the parentheses of (?(...)yes|no)."""
    refers_to_itself: bool = False
    branch: Branch = field(default_factory=list)


class Translation(Reader):
    """A pattern of PCRE1 in words for PCRE2. Raises: BadPattern where PCRE1 refuses it."""

    def __init__(self, pattern: bytes) -> None:
        super().__init__(pattern)
        self._strict = False
        self._captures = 0
        self._numbers: dict[bytes, list[int]] = {}
        self._closed: dict[int | bytes, Part] = {}
        self._open: list[_Group] = []
        self._last: Part | None = None
        """What a quantifier would repeat; None where there is nothing to."""
        self._behind: list[tuple[Branch, int]] = []
        self._next_is_condition = False
        self._recursion_tests: list[tuple[int, int]] = []
        """Conditions such as (?(R2)...): the index of the piece, and the group."""
        self._begin(b"", Kind.GROUP)
        self.settings()
        self._read()
        for index, number in self._recursion_tests:
            if number > self._captures:
                self.out[index] = b"(?(?!)"  # never true; PCRE2 wants the group to exist
        if len(self._open) > 1:
            raise BadPattern("missing closing parenthesis", self.end)
        for branch, place in self._behind:
            if not is_fixed(branch, self._closed):
                reason = "a look-behind needs one fixed length in each of its alternatives"
                raise BadPattern(reason, place)

    @property
    def text(self) -> bytes:
        """The pattern for PCRE2."""
        return b"".join(self.out)

    def _read(self) -> None:
        pattern = self.pattern
        quoted = False
        while self.at < self.end:
            byte = pattern[self.at]
            if pattern.startswith(b"\\E", self.at):
                quoted = False
                self.at += 2
            elif quoted:
                self._write(literal(byte), Kind.BYTE, self.at + 1)
            elif pattern.startswith(b"\\Q", self.at):
                quoted = True
                self.at += 2
            elif not self.skip():
                self._item(byte)

    def _write(self, text: bytes, kind: Kind | None, end: int) -> None:
        """Write an item and go behind it; with a kind, a quantifier may repeat it."""
        self.append(text)
        self._last = None
        if kind is not None:
            self._last = Part(kind)
            self._open[-1].branch.append(self._last)
        self.at = end

    def _item(self, byte: int) -> None:
        if byte in b"*+?{":
            self._quantifier(byte)
        elif byte == ord("("):
            self._parenthesis()
        elif byte == ord(")"):
            self._close()
        elif byte == ord("|"):
            self._alternative()
        elif byte == ord("["):
            self._class()
        elif byte == ord("\\"):
            escape = read_escape(
                self.pattern, self.at, self._captures, in_class=False, strict=self._strict
            )
            self._escape(escape)
        elif byte in b"^$":
            self._write(bytes((byte,)), None, self.at + 1)
        elif byte == ord("."):
            self._write(b".", Kind.BYTE, self.at + 1)
        elif not self.extended and (run := tokens.LITERALS.match(self.pattern, self.at)):
            before = len(run[0]) - 1
            if before:
                self._open[-1].branch.append(Part(Kind.BYTE, before, before))
            self._write(run[0], Kind.BYTE, run.end())
        else:
            self._write(literal(byte), Kind.BYTE, self.at + 1)

    def _quantifier(self, byte: int) -> None:
        counted = count(self.pattern, self.at)
        if byte == ord("{") and counted is None:
            self._write(rb"\{", Kind.BYTE, self.at + 1)
            return
        least, most, end = counted or (int(byte == ord("+")), None, self.at + 1)
        text = self.pattern[self.at : end]
        if byte == ord("?"):
            most = 1
        if max(least, most or 0) > tokens.MAX_REPEAT:
            raise self.bad(f"a count beyond {tokens.MAX_REPEAT}")
        if most is not None and most < least:
            raise self.bad("a count whose end is below its start")
        if self._last is None:
            raise self.bad("a quantifier with nothing to repeat before it")
        self._last.low, self._last.high = least, most
        if self._last.kind is Kind.ASSERTION and most != 0:
            text = b"" if least else b"?"  # once is enough, and what PCRE1 makes of it
        self.append(text)
        self._last = None
        self.at = end
        self.skip()
        if self.pattern[self.at] in b"+?":
            self.append(self.pattern[self.at : self.at + 1] if text else b"")
            self.at += 1

    def _class(self) -> None:
        for edge, text in tokens.WORD_EDGES.items():
            if self.pattern.startswith(edge, self.at):
                self.append(rb"\b")
                self._write(text, Kind.ASSERTION, self.at + len(edge))
                return
        text, end = read_class(self.pattern, self.at, strict=self._strict)
        self._write(text, Kind.BYTE, end)

    # Escapes ------------------------------------------------------------------------------------

    def _escape(self, escape: Escape) -> None:
        end = escape.end
        if escape.means is Means.BYTE:
            self._write(literal(escape.number), Kind.BYTE, end)
        elif escape.means is Means.REFERENCE:
            self._refer([escape.number], b"\\g{%d}" % escape.number, end)
        elif escape.means is Means.NAME:
            found = tokens.BEHIND_K.match(self.pattern, end)
            if not found:
                raise self.bad("\\k and \\g{ need the name of a group")
            self._refer_by_name(found[1] or found[2] or found[3], found.end())
        elif escape.means is Means.CALL:
            found = tokens.BEHIND_G.match(self.pattern, end)
            if not found:
                raise self.bad("\\g< and \\g' need the number or the name of a group")
            sign, number, name = found[1] or found[4], found[2] or found[5], found[3] or found[6]
            self._call(sign, number, name, found.end())
        else:
            self._letter(escape.number, end)

    def _letter(self, letter: int, end: int) -> None:
        if letter in b"pPX":
            raise self.bad(NO_UNICODE)
        if letter == ord("K"):
            # PCRE2 refuses \K in a look-around, where PCRE1 lets it move the start of the match.
            inside = any(group.part.kind is Kind.ASSERTION for group in self._open)
            self._write(b"" if inside else rb"\K", None, end)
        elif letter == ord("C"):
            self._write(rb"[\x00-\xff]", Kind.BYTE, end)
        elif letter in tokens.UNREPEATED:
            self._write(b"\\%c" % letter, None, end)
        else:
            kind = Kind.NEWLINE if letter == ord("R") else Kind.BYTE
            self._write(b"\\%c" % letter, kind, end)

    def _refer(self, numbers: list[int], text: bytes, end: int) -> None:
        """Write a back reference. A group that refers to itself is atomic in PCRE1."""
        for group in self._open:
            if group.number in numbers:
                group.refers_to_itself = True
        self._write(text, Kind.REFERENCE, end)

    def _refer_by_name(self, name: bytes, end: int) -> None:
        self._check_name(name)
        self._refer(self._numbers.get(name, []), b"\\k{%s}" % name, end)

    def _check_name(self, name: bytes) -> None:
        if len(name) > tokens.MAX_NAME:
            raise self.bad(f"a group's name longer than {tokens.MAX_NAME} characters")

    # Groups -------------------------------------------------------------------------------------

    def _begin(self, text: bytes, kind: Kind) -> _Group:
        """Open a group; its text ends where the reader stands afterwards."""
        if len(self._open) > tokens.MAX_DEPTH:
            raise self.bad("parentheses nested too deeply")
        options = (self.extended, self._strict)
        group = _Group(Part(kind), len(self.out), self.at, self._captures, options, text)
        group.part.branches.append(group.branch)
        group.is_condition = self._next_is_condition and kind is Kind.ASSERTION
        if group.is_condition:
            self._next_is_condition = False
        self.append(text)
        self._open.append(group)
        self._last = None
        return group

    def _capture(self, name: bytes) -> None:
        self._captures += 1
        group = self._begin(b"(?<%s>" % name if name else b"(", Kind.GROUP)
        group.number = self._captures
        group.name = name
        if name:
            self._numbers.setdefault(name, []).append(self._captures)

    def _alternative(self) -> None:
        group = self._open[-1]
        group.branch = []
        group.part.branches.append(group.branch)
        if group.text == b"(?|":
            group.most = max(group.most, self._captures)
            self._captures = group.captures
        self._write(b"|", None, self.at + 1)

    def _close(self) -> None:
        if len(self._open) == 1:
            raise self.bad("unmatched closing parenthesis")
        group = self._open.pop()
        part = group.part
        self.extended, self._strict = group.options
        if group.text == b"(?|":
            self._captures = max(group.most, self._captures)
        if group.text in (b"(?<=", b"(?<!"):
            self._behind += [(branch, group.start) for branch in part.branches]
        if group.number is not None:
            self._closed.setdefault(group.number, part)
            self._closed.setdefault(group.name, part)
        closing = b")"
        if group.refers_to_itself:
            self.out[group.opening] = b"(?>" + self.out[group.opening]
            closing = b"))"
        self.append(closing)
        self._open[-1].branch.append(part)
        self._last = None if group.is_condition else part
        self.at += 1

    def _parenthesis(self) -> None:
        pattern, at = self.pattern, self.at
        if pattern[at + 1] == ord("*") and (
            pattern[at + 2 : at + 3].isalpha() or pattern[at + 2] == 58
        ):
            self._verb()
        elif pattern[at + 1] != ord("?"):
            self._capture(b"")
            self.at += 1
        elif pattern[at + 2] == ord("("):
            self._condition()
        elif found := tokens.CALLOUT.match(pattern, at):
            if small(found[1]) > tokens.MAX_CALLOUT:
                raise self.bad(f"a callout beyond {tokens.MAX_CALLOUT}")
            self._last = None
            self.at = found.end()
        elif found := tokens.NAMED.match(pattern, at):
            name = found[1] or found[2] or found[3] or b""
            self._check_name(name)
            self._capture(name)
            self.at = found.end()
        elif found := tokens.REFERRED.match(pattern, at):
            self._refer_by_name(found[1], found.end())
        elif found := tokens.CALLED.match(pattern, at):
            self._call(found[1], found[2] or b"0", found[3], found.end())
        else:
            for size in (3, 4):
                text = pattern[at : at + size]
                if text in tokens.OPENINGS:
                    self._begin(text, tokens.OPENINGS[text])
                    self.at += size
                    return
            self._options()

    def _options(self) -> None:
        found = tokens.OPTIONS.match(self.pattern, self.at)
        if not found:
            raise self.bad("an unknown kind of group behind (?")
        on, _, off = found[1].partition(b"-")
        added = bytes(letter for letter in tokens.PASSED_ON if letter in on and letter not in off)
        removed = bytes(letter for letter in tokens.PASSED_ON if letter in off)
        text = b"(?" + added + (b"-" + removed if removed else b"")
        if found[2] == b":":
            self._begin(text + b":", Kind.GROUP)
        elif added or removed:
            self._write(text + b")", None, self.at)
        self._last = None
        self.extended = (self.extended or b"x" in on) and b"x" not in off
        self._strict = (self._strict or b"X" in on) and b"X" not in off
        self.at = found.end()

    def _condition(self) -> None:
        found = tokens.ASSERTED.match(self.pattern, self.at)
        if found:
            self._begin(b"(?", Kind.CONDITION)
            self._next_is_condition = True
            self.at += 2
            return
        found = tokens.CONDITION.match(self.pattern, self.at)
        if not found or (found[2] and small(found[2]) == 0):
            raise self.bad("a condition that is neither a look-around nor a group")
        name = found[4] or found[5]
        recursion = tokens.RECURSION.fullmatch(found[3] or b"")
        if recursion and found[3] not in self._numbers:
            self._recursion_tests.append((len(self.out), int(recursion[1])))
        self._begin(b"(?(<%s>)" % name if name else found[0], Kind.CONDITION)
        self.at = found.end()

    def _call(self, sign: bytes | None, digits: bytes | None, name: bytes | None, end: int) -> None:
        """Write a call of a group. It is atomic in PCRE1."""
        target: int | bytes
        if name:
            self._check_name(name)
            target = self._numbers.get(name, [name])[0]
            text = b"(?&%s)" % name
        else:
            target = small(digits or b"0")
            if sign:
                if target == 0:
                    raise self.bad("a relative number must not be 0")
                target = self._captures + (target if sign == b"+" else 1 - target)
                if target <= 0:
                    raise self.bad(NO_SUCH_GROUP)
            text = b"(?%d)" % target
        self._check_loop(target)
        self._write(b"(?>" + text + b")", Kind.CALL, end)
        if self._last is not None:
            self._last.target = target
            self._last.inside = frozenset(group.number or 0 for group in self._open)

    def _check_loop(self, target: int | bytes) -> None:
        """Refuse a call of an open group before anything was consumed, as PCRE1 does."""
        numbers = [group.number or 0 for group in self._open]
        if target not in numbers or any(g.part.kind is Kind.CONDITION for g in self._open):
            return
        inner = self._open[numbers.index(target) :] if target else self._open
        if all(may_be_empty(group.branch, self._closed) for group in inner):
            raise self.bad("a recursive call that could go on for ever")

    def _verb(self) -> None:
        found = tokens.VERB.match(self.pattern, self.at)
        if not found or found[1] not in tokens.VERBS:
            raise self.bad("(* begins a verb that PCRE 8 does not know")
        name, argument = found[1], found[2]
        if argument and name in tokens.WITHOUT_ARGUMENT:
            raise self.bad(f"(*{name.decode()}) takes no argument")
        if not argument and name in tokens.WITH_ARGUMENT:
            raise self.bad("(*MARK) needs an argument")
        if len(argument or b"") > tokens.MAX_VERB_ARGUMENT:
            raise self.bad(f"an argument of a verb longer than {tokens.MAX_VERB_ARGUMENT} bytes")
        self._write(
            b"(*%s:%s)" % (name, argument) if argument else b"(*%s)" % name, None, found.end()
        )
