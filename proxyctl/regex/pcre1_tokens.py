"""The pieces of PCRE1's syntax that one expression recognises, and PCRE1's limits."""

from __future__ import annotations

import re

from proxyctl.regex.pcre1_lengths import Kind

MAX_REPEAT = 65535
MAX_NAME = 32
MAX_VERB_ARGUMENT = 255
MAX_CALLOUT = 255
MAX_DEPTH = 250

VERB = re.compile(rb"\(\*([A-Za-z]*)(?::([^)\0]*))?\)")
WITHOUT_ARGUMENT = frozenset([b"ACCEPT", b"COMMIT", b"F", b"FAIL"])
WITH_ARGUMENT = frozenset([b"MARK", b""])
VERBS = WITHOUT_ARGUMENT | WITH_ARGUMENT | {b"PRUNE", b"SKIP", b"THEN"}

OPTIONS = re.compile(rb"\(\?([-imsxJUX]*)([:)])")
PASSED_ON = b"imsJU"
"""Options that mean the same in PCRE2; x and X are carried out here."""

NAMED = re.compile(rb"\(\?(?:P<(?!\d)(\w*)>|<(?!\d)(\w+)>|'(?!\d)(\w*)')")
CALLED = re.compile(rb"\(\?(?:R|([+-]?)(\d+)|(?:&|P>)(?!\d)(\w+))\)")
REFERRED = re.compile(rb"\(\?P=(?!\d)(\w+)\)")
BEHIND_K = re.compile(rb"<(?!\d)(\w+)>|'(?!\d)(\w+)'|\{(?!\d)(\w+)\}")
BEHIND_G = re.compile(rb"<(?:([+-]?)(\d+)|(?!\d)(\w+))>|'(?:([+-]?)(\d+)|(?!\d)(\w+))'")
CONDITION = re.compile(rb"\(\?\((?:([+-]?)(\d+)|((?:R&)?(?!\d)\w+)|<(?!\d)(\w+)>|'(?!\d)(\w+)')\)")
RECURSION = re.compile(rb"R(\d{1,9})")
ASSERTED = re.compile(rb"\(\?(?=\((?:\?C\d*\)\()?\?(?:=|!|<=|<!))")
CALLOUT = re.compile(rb"\(\?C(\d*)\)")
LITERALS = re.compile(rb"[0-9A-Za-z_,:;<>=!'\"%&@/~`-]+")
"""Bytes that mean themselves in both, whatever stands before them."""

OPENINGS = {
    b"(?:": Kind.GROUP,
    b"(?|": Kind.GROUP,
    b"(?>": Kind.GROUP,
    b"(?=": Kind.ASSERTION,
    b"(?!": Kind.ASSERTION,
    b"(?<=": Kind.ASSERTION,
    b"(?<!": Kind.ASSERTION,
}
UNREPEATED = frozenset(b"AGZzbB")
WORD_EDGES = {
    b"[[:<:]]": rb"(?=\w)",
    b"[[:>:]]": rb"(?<=\w)",
}
