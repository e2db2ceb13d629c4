"""The few rules that matter for a few others, found among very many without compiling them all.

A rule takes something away from another one only if it matches a query that the other one matches.
So a pattern is out of play if it asks for words that no query at hand has.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from proxyctl.cells import normal_digest, number
from proxyctl.configuration import Configuration, Held
from proxyctl.digest import Digest
from proxyctl.lint.effects_samples import samples
from proxyctl.lint.rule_cover import Covers
from proxyctl.lint.sample_queries import READS, WRITES
from proxyctl.lint.subject import RULES, RuleRow, Subject
from proxyctl.regex import Compiled
from proxyctl.routing.of_configuration import digester_of
from proxyctl.routing.rule import Rule
from proxyctl.state import Key, Row

_SAMPLES = 5
_GRAM = 4
_WAYS = ("SELECT c FROM {} WHERE id=1", "UPDATE {} SET c=1")
_LEADING = ("flagOUT", "attributes", "next_query_flagIN", "mirror_flagOUT")
"""Columns by which a rule leads to a flagIN."""
_SEEN = {"match_digest": "digest_text", "match_pattern": "query"}
"""Patterns, and the field of `_Text` that they look at."""
_PLAIN = re.compile(
    r"""(?: [A-Za-z0-9_ `'",:;=<>@#%&!~/\-] | [.^$*+?] | \\ (?: [bBdDsSwW] | [^A-Za-z0-9\0] )
    )*""",
    re.VERBOSE | re.ASCII,
)
"""Patterns whose words all stand in whatever they match: no group, no class, no choice."""
_WORDS = re.compile(r"""(?<!\\) [A-Za-z0-9_ `'",:;=<>@%&!~/\-]+ (?![*?])""", re.VERBOSE)


def queries_of(row: RuleRow) -> list[str]:
    """Return queries that a rule may match. Shape: each once."""
    found: list[str] = []
    for column in ("match_digest", "match_pattern"):
        pattern = row.text(column)
        if pattern is not None and row.rule is not None and not row.rule.negated:
            texts = samples(pattern, limit=_SAMPLES)
            found += texts
            found += samples(pattern, limit=_SAMPLES, fill=" c ")
            # It may ask for a table only, and other rules for the word in front.
            found += [way.format(text) for text in texts[:1] for way in _WAYS]
    return list(dict.fromkeys([*found, *READS, *WRITES]))


def in_play(configuration: Configuration, rule_ids: Collection[int]) -> Configuration:
    """Return the configuration without rules that are nothing to these ones.

    What is left gives the same proofs about them, and routes each of `queries_of` them alike.
    Raises: as `Subject.router`.
    """
    held = configuration.tables.get(RULES)
    if held is None or len(held.rows) <= len(rule_ids):
        return configuration
    table = _Table(held)
    asked = [key for key in held.rows if table.rule_id(key) in rule_ids or table.leads(key)]
    chosen = replace(held, rows={key: held.rows[key] for key in asked})
    few = Subject(replace(configuration, tables={**configuration.tables, RULES: chosen}))
    if not few.variables.query_digests:
        return configuration
    known = _known(few)
    if known is None:
        return configuration
    texts, opaque = known
    digests = {None, *(rule.digest for rule in few.rules), *(text.digest for text in texts)}
    kept = {*asked, *table.with_pattern(opaque), *table.matched_by(texts, digests)}
    rows = {key: row for key, row in held.rows.items() if key in kept}
    return replace(configuration, tables={**configuration.tables, RULES: replace(held, rows=rows)})


def that_may_match(configuration: Configuration, queries: Iterable[str]) -> Configuration:
    """Return the configuration without rules that are nothing to these queries, plain ASCII.

    What is left routes each of them alike, whoever sends it. Raises: as `Subject.router`.
    """
    held = configuration.tables.get(RULES)
    if held is None or not held.rows or not Subject(configuration).variables.query_digests:
        return configuration
    digester = digester_of(configuration)
    texts = []
    for query in queries:
        digest = digester.digest(query.encode())
        lower = digest.text.decode("ascii", "replace").lower()
        texts.append(_Text("", digest.number, lower, query.lower()))
    kept = {*_Table(held).matched_by(texts, {None, *(text.digest for text in texts)})}
    rows = {key: row for key, row in held.rows.items() if key in kept}
    return replace(configuration, tables={**configuration.tables, RULES: replace(held, rows=rows)})


class _Text(NamedTuple):
    """A query of a user, or of everybody, as patterns see it, in small letters."""

    username: str
    digest: int
    digest_text: str
    query: str


def _known(subject: Subject) -> tuple[list[_Text], frozenset[str]] | None:
    """Return texts that the patterns of the rules match, and the patterns of which none is known.

    What covers one of the latter is only that pattern itself. None: a text is not understood.
    """
    digester = digester_of(subject.configuration)
    judge = Covers(subject)
    known: dict[str, Digest] = {}
    found: dict[_Text, None] = {}
    opaque: set[str] = set()
    for row in subject.rule_rows:
        rule = row.rule
        if rule is None:
            continue
        queries = queries_of(row)
        username = rule.username or ""
        for query in queries:
            if not query.isascii():
                return None  # letters may be alike there that are not so here
            if query not in known:
                known[query] = digester.digest(query.encode())
            digest = known[query]
            if not digest.certain:
                return None
            lower = digest.text.decode("ascii", "replace").lower()
            found[_Text(username, digest.number, lower, query.lower())] = None
        for column, pattern in _patterns(rule):
            seen = (q.encode() if column == "match_pattern" else known[q].text for q in queries)
            if any(map(pattern.matches, seen)):
                continue
            text = judge.sample(pattern)
            if text is None:
                opaque.add(row.text(column) or "")
            elif not text.isascii():
                return None
            else:
                lower = text.decode("ascii").lower()
                found[_Text(username, 0, lower, lower)] = None
    return list(found), frozenset(opaque)


def _patterns(rule: Rule) -> Iterator[tuple[str, Compiled]]:
    """Yield the patterns of a rule that say what it matches, by column."""
    for column in () if rule.negated or rule.broken else _SEEN:
        pattern = getattr(rule, column)
        if pattern is not None:
            yield column, pattern


def patterns_match(rule: Rule, digest_text: bytes, query: bytes) -> bool:
    """Return whether a rule matches these, as far as its patterns tell; negated, none may match."""
    seen = {"match_digest": digest_text, "match_pattern": query}
    found = [
        getattr(rule, column).matches(text)
        for column, text in seen.items()
        if getattr(rule, column) is not None
    ]
    return not any(found) if rule.negated else all(found)


class _Table:
    """The rows of mysql_query_rules, by what they ask for."""

    def __init__(self, held: Held) -> None:
        self._rows = held.rows
        self._index = held.layout.index
        self._rewrites = any(held.column("replace_pattern"))
        self._leading = [self._index[name] for name in _LEADING if name in self._index]

    def rule_id(self, key: Key) -> int | None:
        """Return the number of a rule."""
        return number(self._rows[key][self._index["rule_id"]])

    def leads(self, key: Key) -> bool:
        """Return whether a rule leads to a flagIN."""
        row = self._rows[key]
        return any(row[position] not in (None, "") for position in self._leading)

    def with_pattern(self, patterns: Collection[str]) -> Iterator[Key]:
        """Yield the rules that have one of these patterns."""
        for key, row in self._rows.items():
            if any(self._cell(row, column) in patterns for column in _SEEN):
                yield key

    def _cell(self, row: Row, name: str) -> str | None:
        cell = row[self._index[name]]
        return None if cell is None else str(cell)

    def matched_by(self, texts: Sequence[_Text], digests: Collection[int | None]) -> Iterator[Key]:
        """Yield the rules that may match one of these, and those that other proofs look at.

        `digests`: those that the texts have, and that are asked for.
        """
        users = {"", *(text.username for text in texts)}
        is_for_all = any(not text.username for text in texts)
        last = max(self._rows, key=lambda key: self.rule_id(key) or 0)
        words: dict[Key, tuple[str, str]] = {}
        for key, row in self._rows.items():
            if key == last or self._is_obstacle(row):
                yield key
                continue
            is_asked = is_for_all or (self._cell(row, "username") or "") in users
            if is_asked and self._digest(row) in digests:
                asked = self._asked_words(row)
                if asked is None:
                    yield key
                else:
                    words[key] = asked
        yield from self._with_words(words, texts)

    def _is_obstacle(self, row: Row) -> bool:
        """Return whether a rule may end or change what goes on between two others."""
        ends = number(row[self._index["apply"]]) == 1 and self._cell(
            row, "destination_hostgroup"
        ) in (None, "")
        return ends or row[self._index["replace_pattern"]] is not None

    def _digest(self, row: Row) -> int | None:
        digest = normal_digest(self._cell(row, "digest") or "")
        return int(digest, 16) if digest else None

    def _asked_words(self, row: Row) -> tuple[str, str] | None:
        """Return what is looked at, and words that stand there in whatever the rule matches."""
        if number(row[self._index["negate_match_pattern"]]) == 1:
            return None
        for column, name in _SEEN.items():
            pattern = self._cell(row, column)
            if pattern is None or (name == "query" and self._rewrites):
                continue
            found = words_in(pattern)
            if len(found) >= _GRAM:
                return name, found
        return None

    def _with_words(
        self, words: Mapping[Key, tuple[str, str]], texts: Sequence[_Text]
    ) -> Iterator[Key]:
        """Yield the rules whose words stand in a text of a user that they are for."""
        frequency = Counter(gram for _, asked in words.values() for gram in _grams(asked))
        by_gram: dict[tuple[str, str], list[Key]] = defaultdict(list)
        for key, (name, asked) in words.items():
            by_gram[name, min(_grams(asked), key=lambda gram: (frequency[gram], gram))].append(key)
        for text in texts:
            for name in _SEEN.values():
                seen: str = getattr(text, name)
                for gram in {*_grams(seen)}:
                    for key in by_gram.get((name, gram), ()):
                        user = self._cell(self._rows[key], "username") or ""
                        is_theirs = user in ("", text.username) or not text.username
                        if is_theirs and words[key][1] in seen:
                            yield key


def words_in(pattern: str) -> str:
    """Return the longest piece that stands, in small letters, in whatever the pattern matches.

    Empty where that is not plain to see.
    """
    if not _PLAIN.fullmatch(pattern):
        return ""
    return max(_WORDS.findall(pattern), key=len, default="").lower()


def _grams(text: str) -> Iterator[str]:
    for at in range(len(text) - _GRAM + 1):
        yield text[at : at + _GRAM]
