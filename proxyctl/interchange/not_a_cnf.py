"""Files given to `import` that are no proxysql.cnf: what they are, and how to get the file out.

Pure. The reader of a proxysql.cnf stops at the first line of something else and can only ask for
a comma; here that line is recognised. Nothing is rendered: values of a template are not known here.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from proxyctl.errors import ConfigError, Mistake
from proxyctl.interchange.cnf_sections import SECTIONS, STARTUP_KEYS, VARIABLE_SECTIONS
from proxyctl.interchange.libconfig import WHOLE_FILE, CnfPlace, Offset, Setting, Type

CNF = "proxysql.cnf"

_SECTION = re.compile(
    rf"^[ \t]*(?:{'|'.join([*SECTIONS, *VARIABLE_SECTIONS])})\s*[=:]\s*[({{]", re.MULTILINE
)


def holds_cnf(text: str) -> bool:
    """Return whether a line begins a section as a proxysql.cnf writes it."""
    return _SECTION.search(text) is not None


_OF_YAML = re.compile(
    r"""(?:[ \t]*(?:\#[^\n]*)?\n)*      # empty lines and comments
    (?:---|-[ ]|\{|\[\s*[\[{"]|(?P<key>[\w./-]+):(?:[ \t]*\n|[ ]+[A-Za-z]))""",
    re.VERBOSE,
)


def looks_like_yaml(text: str, path: str) -> bool:
    """Return whether a file is YAML or JSON by its name, or begins as only they do."""
    if path.lower().endswith((".yaml", ".yml", ".json")):
        return True
    found = _OF_YAML.match(text)
    known = (*SECTIONS, *VARIABLE_SECTIONS, *STARTUP_KEYS)
    return found is not None and found["key"] not in known


def sections_as_yaml(root: object, path: str) -> Mistake | None:
    """Return the answer to YAML whose keys are sections of a proxysql.cnf, or to proxyctl's own."""
    keys = root if isinstance(root, dict) else ()
    section = next((key for key in (*SECTIONS, *VARIABLE_SECTIONS) if key in keys), None)
    if section is None:
        return None
    if "version" in keys:
        fix = f"check it with `proxyctl validate -f {shlex.quote(path)}`"
        return Mistake(path, 1, 1, "", "this is already a proxyctl file", fix)
    message = f"{section} as YAML: another program makes a {CNF} from it"
    return Mistake(path, 1, 1, "", message, f"import the /etc/{CNF} that it wrote")


# Templates --------------------------------------------------------------------------------------

_IN_USE = f"import the /etc/{CNF} of a machine that runs with it"


@dataclass(frozen=True)
class _Language:
    """A language of templates."""

    noun: str
    """The words for such a file in a message."""
    mark: re.Pattern[str]
    """Matches text that only files of this language have."""
    fix: str
    """The fix; it may name the `{file}`."""


_LANGUAGES = (
    _Language(
        "a Helm template",
        re.compile(r"\{\{-?[^{}]*(?:\.(?:Values|Release|Chart|Files|Capabilities)\b|\binclude \")"),
        "render the chart first: `helm template CHART > rendered.yaml`, and import that file",
    ),
    _Language(
        "a Go template",
        re.compile(r"\{\{-?\s*(?:[.$/]|(?:if|range|with|else|end|block|define|template)\b|\w+ \")"),
        f"render it with the tool that it is written for, or {_IN_USE}",
    ),
    _Language(
        "a Jinja2 template",
        re.compile(r"\{%|\{\{"),
        "render it first: `ansible localhost -m template -a 'src={file} dest=rendered.cnf' -e"
        f" @VARS.yaml`; or {_IN_USE}",
    ),
    _Language("an ERB template", re.compile("<%"), f"render it first, or {_IN_USE}"),
    _Language(
        "a template of a shell or of Terraform",
        re.compile(r"[$%]\{"),
        f"put the values in, as `envsubst < {{file}} > rendered.cnf` does, or {_IN_USE}",
    ),
)
"""The first whose mark is in the file counts: `{{ end }}` is in templates of Helm as well."""

_MARK = re.compile(r"\{\{|\{%|<%")
_SHELL_MARK = re.compile(r"[$%]\{\s*[A-Za-z_~]")


def template_in(text: str, path: str) -> Mistake | None:
    """Return the answer to a file with a template's mark in it, outside of comments."""
    for number, line in enumerate(text.split("\n"), 1):
        found = None if line.lstrip().startswith("#") else _MARK.search(line)
        if found is not None:
            return _of_template(path, (number, found.start() + 1), text)
    return None


def _of_template(path: str, place: tuple[int, int], text: str, key: str = "") -> Mistake:
    language = next(language for language in _LANGUAGES if language.mark.search(text))
    fix = language.fix.format(file=shlex.quote(path))
    return Mistake(path, *place, key, f"{language.noun}, which is not yet a {CNF}", fix)


_PLACEHOLDER = re.compile(r"\{\{[^{}]+\}\}|\{%[^%]+%\}|<%[^%]+%>")
_SHELL_PLACEHOLDER = re.compile(r"\$\{[A-Za-z_]\w*(?::[-=?+][^${}]*)?\}")


def refuse_placeholders(root: Setting, text: str) -> None:
    """Refuse a .cnf with texts that a template replaces: ProxySQL would take them as they are.

    The message does not repeat such a text: it may be in a password. Raises: ConfigError.
    """
    mistakes = []
    for name, setting in (root.members or {}).items():
        for key, value in _texts(name, setting):
            if _PLACEHOLDER.search(str(value.value)):
                path, line, column = value.place
                mistakes.append(_of_template(path, (line, column), text, key))
    if mistakes:
        raise ConfigError(mistakes)


def shell_placeholders(root: Setting) -> Iterator[tuple[CnfPlace, str]]:
    """Yield the place and the key of each text with `${NAME}`, which a script may replace.

    It is read nevertheless: a password may hold it. Patterns are left out.
    """
    for name, setting in (root.members or {}).items():
        for key, value in _texts(name, setting):
            if not key.startswith(("match_", "replace_")) and _SHELL_PLACEHOLDER.search(
                str(value.value)
            ):
                yield value.place, key


def _texts(name: str, setting: Setting) -> Iterator[tuple[str, Setting]]:
    """Yield the texts inside a setting, each with the key that it is under."""
    if setting.members is not None:
        for key, member in setting.members.items():
            yield from _texts(key, member)
    elif setting.items:
        for item in setting.items:
            yield from _texts(name, item)
    elif setting.type is Type.TEXT:
        yield name, setting


# Other files ------------------------------------------------------------------------------------

_ASIDE = ("#", "//", "/*", "--")

_OTHERS = (
    (
        re.compile(r"(?:INSERT|REPLACE|UPDATE|DELETE|SET|LOAD|SAVE|SELECT)\s", re.IGNORECASE),
        f"SQL, not a {CNF}",
        "run the script on a ProxySQL, or on `proxyctl sandbox`, and then export that",
    ),
    (
        re.compile(r"\["),
        f"a MySQL option file, not a {CNF}",
        f"name the file that ProxySQL starts with, such as /etc/{CNF}",
    ),
    (
        re.compile(r"export\s+\w+="),
        f"a file of shell variables, such as that of proxysql-admin, not a {CNF}",
        f"name the file that ProxySQL starts with, such as /etc/{CNF}",
    ),
)
"""By the first line that is no comment: the message and the fix."""


def explained(error: ConfigError, text: str, offset: Offset | None = WHOLE_FILE) -> ConfigError:
    """Return the answer to a text that is no proxysql.cnf; the error itself if it may be one.

    `error`: says where reading stopped. `offset`: of a text inside of a file; None if the lines of
    the text are not lines of that file.
    """
    mistake, *others = error.mistakes
    if others or not mistake.line:
        return error
    lines = text.split("\n")
    start = offset or WHOLE_FILE
    for body in _heredocs(lines):
        written = "\n".join(lines[body.first : body.last])
        if holds_cnf(written):
            is_exact = offset is not None and (body.is_quoted or not set("$`\\%") & set(written))
            return ConfigError([_of_heredoc(mistake.path, start, body, is_exact=is_exact)])
    stopped = mistake.line - start.lines - 1
    for mark in (_MARK, _SHELL_MARK):
        if found := mark.search(lines[stopped]):
            place = (mistake.line, start.columns + found.start() + 1)
            return ConfigError([_of_template(mistake.path, place, text)])
    code = next((n for n, line in enumerate(lines) if _is_code(line)), stopped)
    for pattern, message, fix in _OTHERS:
        if stopped <= code and pattern.match(lines[code].lstrip()):
            column = len(lines[code]) - len(lines[code].lstrip()) + start.columns + 1
            place = (start.lines + code + 1, column)
            return ConfigError([Mistake(mistake.path, *place, "", message, fix)])
    if text.startswith("#!"):
        place = (start.lines + 1, start.columns + 1)
        fix = "import the file that the script writes"
        return ConfigError([Mistake(mistake.path, *place, "", f"a script, not a {CNF}", fix)])
    return error


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(_ASIDE)


class _Heredoc(NamedTuple):
    """Lines inside of a script.

    Units: lines count from 0.
    """

    first: int
    """The first line."""
    last: int
    """The line after the last one."""
    is_quoted: bool
    """Whether the word that ends the lines is quoted: the shell then replaces nothing in them."""


_OPENING = re.compile(r"""(?<!<)<<[-~]?[ \t]*(?P<quote>["'\\]?)(?P<word>[A-Za-z_]\w*)""")


def _heredocs(lines: Sequence[str]) -> Iterator[_Heredoc]:
    """Yield every heredoc that is closed; one inside of another comes first."""
    opened: dict[str, tuple[int, bool]] = {}
    for number, line in enumerate(lines):
        word = line.strip()
        if word in opened:
            yield _Heredoc(opened[word][0], number, opened[word][1])
            while opened.popitem()[0] != word:
                pass
        elif found := _OPENING.search(line):
            opened.setdefault(found["word"], (number + 1, bool(found["quote"])))


def _of_heredoc(path: str, offset: Offset, body: _Heredoc, *, is_exact: bool) -> Mistake:
    """Return the answer to a heredoc. `is_exact`: the script writes the lines as they are."""
    first, last = offset.lines + body.first + 1, offset.lines + body.last
    fix = "import the file that the script writes: it may replace `$` and backslashes in this text"
    if is_exact:
        fix = f"run `sed -n '{first},{last}p' {shlex.quote(path)} > {CNF}`, and import that file"
    return Mistake(path, first, 1, "", f"a {CNF} that begins here is part of a script", fix)
