"""Text for LaTeX: printed as it is, whatever signs are in it."""

import re
import unicodedata

APART = "\N{ZERO WIDTH SPACE}"  # between two dashes, which would be one longer dash
ESCAPES = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    '"': "''",
    "`": r"\textasciigrave{}",
    APART: "{}",
    **{sign: f"${sign}$" for sign in "<>|"},
    "±": r"$\pm$",
    "×": r"$\times$",
    "−": "$-$",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "∞": r"$\infty$",
    "→": r"$\rightarrow$",
    "√": r"$\surd$",
    "≈": r"$\approx$",
    "≠": r"$\neq$",
    "∈": r"$\in$",
    "∑": r"$\sum$",
    "ℓ": r"$\ell$",
    "′": "$'$",
    **{sign: f"$^{{{plain}}}$" for sign, plain in zip("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789", strict=True)},
    **{sign: f"$_{{{plain}}}$" for sign, plain in zip("₊₋₀₁₂₃₄₅₆₇₈₉", "+-0123456789", strict=True)},
    **{sign: rf"$\{unicodedata.name(sign).split()[-1].lower()}$" for sign in "αβγδζηθικμνξπρστυφχψω"},
    **{sign: rf"$\{unicodedata.name(sign).split()[-1].capitalize()}$" for sign in "ΓΔΘΞΠΣΦΨΩ"},
    **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧο", "ABEZHIKMNOPTXo", strict=True)),  # for which mathematics has the Latin letters
    "Υ": r"$\Upsilon$",
    "ς": r"$\varsigma$",
    "ε": r"$\epsilon$",
    "λ": r"$\lambda$",  # which Unicode calls lamda
    "Λ": r"$\Lambda$",
}
# What pdflatex prints besides, tried letter by letter in an article with nothing but booktabs. The last line needs
# \\usepackage[T1]{fontenc}, and whoever writes such letters has it.
PRINTED = frozenset(
    "\N{NO-BREAK SPACE}¡¢£¥§©ª®°¶º¼½¾¿ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõö÷øùúûüýÿ"
    "ĀāĂăĆćĈĉĊċČčĎďĒēĔĕĖėĚěĜĝĞğĠġĢģĤĥĨĩĪīĬĭİıĴĵĶķĹĺĻļĽľŁłŃńŅņŇňŌōŎŏŐőŒœŔŕŖŗŘřŚśŜŝŞşŠšŢţŤťŨũŪūŬŭŮůŰűŴŵŶŷŸŹźŻżŽž"
    "ǍǎǏǐǑǒǓǔǦǧǨǩȘșȚțȲȳḂḃḍḞḟḠḡḥḰḱḷṃṅṇṛṣṭẎẏẐẑẞỲỳ‐‑‘’“”†‡•€™←↑↓µ"
    "«»ÐðÞþĄąĐđĘęĮįŲųŊŋ"
)


def escaped(text: str) -> str:
    """Nothing in it means anything to LaTeX; `code` is set as such, and a minus before a digit is a minus."""
    parts = re.split(r"`([^`]+)`", _one_line(text))
    return "".join(rf"\texttt{{{_signs(part)}}}" if at % 2 else _signs(part) for at, part in enumerate(parts))


def not_printed(text: str) -> str:
    """Letters that pdflatex has not, each once: it stops at them, and leaves them out if it is told to go on."""
    letters = dict.fromkeys(_one_line(text))
    return "".join(one for one in letters if not one.isascii() and one not in ESCAPES and one not in PRINTED)


def _one_line(text: str) -> str:
    """Composed letters, as pdflatex knows no combining accents, and macOS writes names of files with them."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def _signs(text: str) -> str:
    signs = re.sub(r"(?<![\w.)-])-(?=\d)", "−", text)
    return "".join(ESCAPES.get(sign, sign) for sign in re.sub("-(?=-)", "-" + APART, signs))
