"""What a digest text of the statistics tells about the text that match_digest sees. Pure.

They are the same text if it was made under the variables in force, is not cut, and is not what a
rule made of another query: the statistics count a rewritten query as what it became.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from proxyctl.digest import Digester, DigestOptions
from proxyctl.regex import Compiled
from proxyctl.routing import Router
from proxyctl.routing.found import DigestPatterns
from proxyctl.routing.rule import Rule
from proxyctl.routing.special import USE, Special, before_rules, behind_rules, is_use


class Known(NamedTuple):
    """What one side's match_digest sees. `found` None: the text is not known there.

    `number` is -1 where no rule asks for it. `source` tells texts apart that are not known.
    """

    found: frozenset[Compiled] | None
    unsure: frozenset[Compiled]
    number: int
    is_number_known: bool
    source: object


class TextFacts(NamedTuple):
    """Everything about a text that decides what rules do with it. Equal: no rule tells them apart.

    `rewriters` are rules in force that may have made this text of another.
    """

    before: Known
    after: Known
    special: Special | None
    comment: bytes | None
    rewriters: tuple[int, ...]
    is_of_other_options: bool
    is_cut: bool


@dataclass(frozen=True)
class TextDigest:
    """A digest as rules see it."""

    text: bytes
    number: int
    comment: bytes | None
    certain: bool = True


_UNKNOWN: frozenset[Compiled] = frozenset()


class TextReader:
    """Reads digest texts that were made under `recorded` for two routers."""

    def __init__(
        self,
        recorded: DigestOptions,
        routers: tuple[Router, Router],
        options: tuple[DigestOptions, DigestOptions],
    ) -> None:
        self._recorded = recorded
        self._digester = Digester(recorded)
        self._options = options
        self._digesters = tuple(Digester(one) for one in options)
        self._patterns = DigestPatterns(routers)
        self._all = self._patterns.patterns
        self._texts = {p: t for router in routers for p, t in router.patterns.texts().items()}
        self._numbers = frozenset(
            rule.digest for router in routers for rule in router.rules if rule.digest is not None
        )
        self._rewriters = [
            (rule.rule_id, words_of(rule.replacement))
            for rule in routers[0].rules
            if rule.replacement is not None
        ]
        self._known: dict[TextFacts, TextFacts] = {}

    def read(self, text: bytes, digest: str) -> TextFacts:
        """Return the facts about a text; the same object for equal ones."""
        is_cut = len(text) >= self._recorded.max_digest_length
        is_other = is_of_other_options(text, self._recorded, self._digester, is_cut=is_cut)
        number = int(digest, 16)
        before, after = (
            self._side(text, number, side, is_cut=is_cut, is_other=is_other) for side in (0, 1)
        )
        lower = text.lower()
        facts = TextFacts(
            before,
            after,
            special_of(text),
            _comment(text) if self._recorded.keep_comment else None,
            tuple(rule_id for rule_id, words in self._rewriters if _stand_in(words, lower)),
            is_other,
            is_cut,
        )
        return self._known.setdefault(facts, facts)

    def _side(self, text: bytes, number: int, side: int, *, is_cut: bool, is_other: bool) -> Known:
        options = self._options[side]
        if options != self._recorded and not is_other:
            if is_cut or not leads_on_to(self._recorded, options):
                is_other = True
            else:
                text, number, _, _ = self._digesters[side].digest(text)
        if is_other:
            return Known(None, _UNKNOWN, -1, False, options)
        found, unsure = self._patterns.found_in(text), _UNKNOWN
        if is_cut:
            found, unsure = self._of_cut_text(text, found)
        return Known(found, unsure, number if number in self._numbers else -1, True, options)

    def _of_cut_text(
        self, text: bytes, found: frozenset[Compiled]
    ) -> tuple[frozenset[Compiled], frozenset[Compiled]]:
        """Return the patterns that match however the text goes on, and those that may."""
        surely = frozenset(p for p in found if matches_anyhow(p, self._texts[p], text))
        open_ = (p for p in self._all - surely if not never_begins(self._texts[p], text))
        return surely, frozenset(open_)


def is_of_other_options(
    text: bytes, options: DigestOptions, digester: Digester, *, is_cut: bool
) -> bool:
    """Return whether a digest text was made under other options than these, as far as it shows."""
    if is_cut and len(text) > options.max_digest_length:
        return True
    for folded in _FOLDED.finditer(text):
        # What stands before an operator is no part of the list, but looks so: `?-?,?,?,?,...`.
        if options.values and folded[1].count(b"?") - options.values not in (0, 1):
            return True
    return not is_cut and digester.digest(text).text.rstrip() != text.rstrip()


_FOLDED = re.compile(rb"\(?((?:\?,)+)\.\.\.")


def leads_on_to(recorded: DigestOptions, options: DigestOptions) -> bool:
    """Return whether digesting a digest text again gives what other options give of its query."""
    grows = all(
        getattr(options, name) or not getattr(recorded, name)
        for name in ("lowercase", "replace_null", "no_digits")
    )
    same = all(
        getattr(options, name) == getattr(recorded, name)
        for name in ("keep_comment", "max_query_length", "groups_grouping_limit")
    )
    return grows and same and 0 < options.values <= (recorded.values or options.values)


def matches_anyhow(pattern: Compiled, source: bytes, text: bytes) -> bool:
    """Return whether a pattern that matches the beginning of a text matches all of it as well."""
    if _LOOKS_AHEAD.search(source):
        return False
    if not _LOOKS_BESIDE.search(source):
        return True
    spans = pattern.search(text)
    return spans is not None and spans[0][1] < len(text)


_LOOKS_AHEAD = re.compile(rb"\$|\\[zZGK]|\(\?|\(\*")
_LOOKS_BESIDE = re.compile(rb"\\[bB]")
_FIRST_WORD = re.compile(rb"\^([A-Za-z_]+)(?![A-Za-z_?*{|])")


def never_begins(source: bytes, text: bytes) -> bool:
    """Return whether a pattern asks for another first word than the text has."""
    first = _FIRST_WORD.match(source)
    if first is None or b"|" in source or b"(?" in source:
        return False
    return not text.lower().startswith(first[1].lower())


def words_of(replacement: bytes) -> tuple[bytes, ...]:
    r"""Return the words that a replacement leaves in a digest text, in lower case.

    Strings, numbers and comments are not in a digest, and what `\1` brings is not known.
    """
    text = re.sub(rb"'[^']*'?|\"[^\"]*\"?|/\*.*?\*/|\\[0-9]", b" ", replacement.lower())
    return tuple(re.findall(rb"(?<![0-9a-z_$.])[a-z_][a-z_$]*", text))


def _stand_in(words: Sequence[bytes], lower: bytes) -> bool:
    at = 0
    for word in words:
        at = lower.find(word, at)
        if at < 0:
            return False
        at += len(word)
    return True


def special_of(text: bytes) -> Special | None:
    """Return what ProxySQL does by itself with queries of a digest text."""
    if is_use(text, text):
        return USE
    return before_rules(text.replace(b"?", b"1")) or behind_rules(text, text)


def _comment(text: bytes) -> bytes | None:
    found = re.search(rb"/\*(.*?)\*/", text, re.DOTALL)
    return found[1] if found else None


def rule_fits(rule: Rule, username: str, schemaname: str, client_addr: str | None) -> bool:
    """Return whether a rule may be for such sessions, as far as it can be told."""
    if rule.username is not None and rule.username != username:
        return False
    if rule.schemaname is not None and rule.schemaname != schemaname:
        return False
    return rule.client_addr is None or client_addr is None or rule.is_from(client_addr)
