"""Character sets and collations, for the two variables that must fit each other.

Source: mysql_collations and the answers of a running ProxySQL 2.7.1.
"""

from __future__ import annotations

_COLLATIONS: dict[str, str] = {
    "armscii8": "general_ci bin general_nopad_ci nopad_bin",
    "ascii": "general_ci bin general_nopad_ci nopad_bin",
    "big5": "chinese_ci bin chinese_nopad_ci nopad_bin",
    "binary": "",
    "cp1250": "general_ci czech_cs croatian_ci bin polish_ci general_nopad_ci nopad_bin",
    "cp1251": "general_ci bulgarian_ci ukrainian_ci bin general_cs nopad_bin general_nopad_ci",
    "cp1256": "general_ci bin general_nopad_ci nopad_bin",
    "cp1257": "general_ci lithuanian_ci bin nopad_bin general_nopad_ci",
    "cp850": "general_ci bin general_nopad_ci nopad_bin",
    "cp852": "general_ci bin general_nopad_ci nopad_bin",
    "cp866": "general_ci bin general_nopad_ci nopad_bin",
    "cp932": "japanese_ci bin japanese_nopad_ci nopad_bin",
    "dec8": "swedish_ci bin swedisch_nopad_ci nopad_bin",
    "eucjpms": "japanese_ci bin japanese_nopad_ci nopad_bin",
    "euckr": "korean_ci bin korean_nopad_ci nopad_bin",
    "filename": "",
    "gb18030": "chinese_ci bin unicode_520_ci",
    "gb2312": "chinese_ci bin chinese_nopad_ci nopad_bin",
    "gbk": "chinese_ci bin chinese_nopad_ci nopad_bin",
    "geostd8": "general_ci bin general_nopad_ci nopad_bin",
    "greek": "general_ci bin general_nopad_ci nopad_bin",
    "hebrew": "general_ci bin general_nopad_ci nopad_bin",
    "hp8": "english_ci bin english_nopad_ci nopad_bin",
    "keybcs2": "general_ci bin general_nopad_ci nopad_bin",
    "koi8r": "general_ci bin general_nopad_ci nopad_bin",
    "koi8u": "general_ci bin general_nopad_ci nopad_bin",
    "latin1": (
        "swedish_ci german1_ci danish_ci german2_ci bin general_ci general_cs spanish_ci "
        "swedish_nopad_ci nopad_bin"
    ),
    "latin2": "general_ci czech_cs hungarian_ci croatian_ci bin general_nopad_ci nopad_bin",
    "latin5": "turkish_ci bin turkish_nopad_ci nopad_bin",
    "latin7": "general_ci estonian_cs general_cs bin general_nopad_ci nopad_bin",
    "macce": "general_ci bin general_nopad_ci nopad_bin",
    "macroman": "general_ci bin general_nopad_ci nopad_bin",
    "sjis": "japanese_ci bin japanese_nopad_ci nopad_bin",
    "swe7": "swedish_ci bin swedish_nopad_ci nopad_bin",
    "tis620": "thai_ci bin thai_nopad_ci nopad_bin",
    "ucs2": (
        "general_ci bin unicode_ci icelandic_ci latvian_ci romanian_ci slovenian_ci polish_ci "
        "estonian_ci spanish_ci swedish_ci turkish_ci czech_ci danish_ci lithuanian_ci "
        "slovak_ci spanish2_ci roman_ci persian_ci esperanto_ci hungarian_ci sinhala_ci "
        "german2_ci croatian_ci unicode_520_ci vietnamese_ci general_mysql500_ci myanmar_ci "
        "thai_520_w2 general_nopad_ci nopad_bin unicode_nopad_ci unicode_520_nopad_ci"
    ),
    "ujis": "japanese_ci bin japanese_nopad_ci nopad_bin",
    "utf16": (
        "general_ci bin unicode_ci icelandic_ci latvian_ci romanian_ci slovenian_ci polish_ci "
        "estonian_ci spanish_ci swedish_ci turkish_ci czech_ci danish_ci lithunian_ci "
        "slovak_ci spanish2_ci roman_ci persian_ci esperanto_ci sinhala_ci german2_ci "
        "croatian_mysql561_ci unicode_520_ci vietnamese_ci croatian_ci myanmar_ci thai_520_w2 "
        "general_nopad_ci nopad_bin unicode_nopad_ci unicode_520_nopad_ci"
    ),
    "utf16le": "general_nopad_ci nopad_bin",
    "utf32": (
        "general_ci bin unicode_ci icelandic_ci latvian_ci romanian_ci slovenian_ci polish_ci "
        "estonian_ci spanish_ci swedish_ci turkish_ci czech_ci danish_ci lithuanian_ci "
        "slovak_ci roman_ci persian_ci esperanto_ci hungarian_ci sinhala_ci german2_ci "
        "croatian_mysql561_ci unicode_520_ci vietnamese_ci croatian_ci myanmar_ci thai_520_w2 "
        "general_nopad_ci nopad_bin unicode_nopad_ci unicode_520_nopad_ci"
    ),
    "utf8": (
        "general_ci tolower_ci bin spanish_ci unicode_ci icelandic_ci latvian_ci romanian_ci "
        "slovenian_ci polish_ci estonian_ci swedish_ci turkish_ci czech_ci danish_ci "
        "lithuanian_ci slovak_ci spanish2_ci roman_ci persian_ci esperanto_ci hungarian_ci "
        "sinhala_ci german2_ci croatian_ci unicode_520_ci vietnamese_ci general_mysql500_ci "
        "general_cs myanmar_ci thai_520_w2 general_nopad_ci nopad_bin unicode_nopad_ci "
        "unicode_520_nopad_ci"
    ),
    "utf8mb4": (
        "general_ci bin unicode_ci icelandic_ci latvian_ci romanian_ci slovenian_ci polish_ci "
        "estonian_ci spanish_ci swedish_ci turkish_ci czech_ci danish_ci lithuanian_ci "
        "slovak_ci spanish2_ci roman_ci persian_ci esperanto_ci hungarian_ci sinhala_ci "
        "german2_ci croatian_mysql561_ci unicode_520_ci vietnamese_ci 0900_ai_ci "
        "de_pb_0900_ai_ci is_0900_ai_ci lv_0900_ai_ci ro_0900_ai_ci sl_0900_ai_ci "
        "pl_0900_ai_ci et_0900_ai_ci es_0900_ai_ci sv_0900_ai_ci tr_0900_ai_ci cs_0900_ai_ci "
        "da_0900_ai_ci lt_0900_ai_ci sk_0900_ai_ci es_trad_0900_ai_ci la_0900_ai_ci "
        "eo_0900_ai_ci hu_0900_ai_ci hr_0900_ai_ci vi_0900_ai_ci 0900_as_cs de_pb__0900_as_cs "
        "is_0900_as_cs lv_0900_as_cs ro_0900_as_cs sl_0900_as_cs pl_0900_as_cs et_0900_as_cs "
        "es_0900_as_cs sv_0900_as_cs tr_0900_as_cs cs_0900_as_cs da_0900_as_cs lt_0900_as_cs "
        "sk_0900_as_cs es_trad_0900_as_cs la_0900_as_cs eo_0900_as_cs hu_0900_as_cs "
        "hr_0900_as_cs vi_0900_as_cs ja_0900_as_cs ja_0900_as_cs_ks 0900_as_ci ru_0900_as_ci "
        "ru_0900_as_cs croatian_ci myanmar_ci thai_520_w2 general_nopad_ci general_nopad_bin "
        "unicode_nopad_ci unicode_520_nopad_ci"
    ),
}
"""The suffixes of collation names, by character set; the default collation comes first."""

_CHARSET_BY_COLLATION: dict[str, str] = {
    f"{charset}_{end}": charset for charset, ends in _COLLATIONS.items() for end in ends.split()
} | {charset: charset for charset, ends in _COLLATIONS.items() if not ends}

_BORROWED_DEFAULTS = {"utf16le": "utf16_general_ci"}

_ALIASES = {"utf8mb3": "utf8"}
"""Other names of a character set. No collation is named after them."""

CHARSETS = tuple(sorted([*_COLLATIONS, *_ALIASES]))
"""Every character set that ProxySQL knows."""

COLLATIONS = tuple(sorted([*_CHARSET_BY_COLLATION]))
"""Every collation that ProxySQL knows."""


def charset_of(collation: str) -> str | None:
    """Return the character set of a collation, or None when ProxySQL does not know it."""
    return _CHARSET_BY_COLLATION.get(collation.lower())


def default_collation(charset: str) -> str | None:
    """Return the default collation of a character set, or None when ProxySQL does not know it."""
    name = _ALIASES.get(charset.lower(), charset.lower())
    if name not in _COLLATIONS:
        return None
    if name in _BORROWED_DEFAULTS:
        return _BORROWED_DEFAULTS[name]
    ends = _COLLATIONS[name].split()
    return f"{name}_{ends[0]}" if ends else name


def fits(charset: str, collation: str) -> bool:
    """Return whether ProxySQL keeps both, whatever their case.

    The default collation of utf16le belongs to utf16: the next LOAD changes the character set to
    utf16.
    """
    name = charset.lower()
    return _ALIASES.get(name, name) == charset_of(collation)


def is_known_charset(charset: str, collation: str | None = None) -> bool:
    """Return whether ProxySQL knows a character set and, if one is given, this collation of it."""
    if collation is None:
        return charset.lower() in CHARSETS
    for alias, name in _ALIASES.items():
        if collation.lower().startswith(alias):
            collation = name + collation[len(alias) :]
    return fits(charset, collation)
