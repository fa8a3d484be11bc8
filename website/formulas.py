"""Formulas as MathML, which browsers draw without a script or a font.

Markdown has formulas in TeX between dollars, as hosts of repositories show them. Docstrings and the heads of the
algorithms are read as text, too: between the dollars, they have what one would type, such as
``$T = sqrt(2 (1 - p) / (b p)) / RTT$``, which `tex` translates. Two dollars around a paragraph set it on a
line of its own.
"""

from __future__ import annotations

import html
import re

FROM_SOURCES = ("reference/", "algorithms/")
"""Folders of the site whose pages are made from docstrings and comments."""

# What the Markdown extension makes of dollars.
MARKED = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<formula>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)

# A formula that the Markdown extension did not see, as in a block of HTML.
CODE = re.compile(r"<(pre|code|script|style)\b.*?</\1>|<[^>]+>", re.DOTALL)
LEFT = re.compile(r"\$[^\s$][^$]*\$")

TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?)|([A-Za-z]+'*)|(,\s{2,}|\.\.\.|\+-|<=|>=|!=|\S))")
COMMANDS = re.compile(
    "alpha|beta|gamma|delta|epsilon|zeta|lambda|mu|nu|rho|sigma|tau|phi|Delta|max|min|ln|log|exp|sum"
)
ROOTS = {"sqrt": r"\sqrt", "cbrt": r"\sqrt[3]"}
SIGNS = {"<=": r"\le", ">=": r"\ge", "!=": r"\ne", "+-": r"\pm", "...": r"\dots", "%": r"\%", "*": r"\cdot"}
CLOSING = {"(": ")", "[": "]"}


def typeset(page: str, place: str) -> str:
    """Return the HTML of a page with its formulas as MathML.

    Parameters
    ----------
    page
        The HTML that the Markdown extension made.
    place
        The place of the page on the site, which decides how its formulas are written.

    Raises
    ------
    ValueError
        A formula cannot be read, or is left as text; the message names it and the page.
    """
    from latex2mathml.converter import convert

    written = place.startswith(FROM_SOURCES)

    def drawn(found: re.Match[str]) -> str:
        formula, is_block = html.unescape(found["formula"]).strip(), found["tag"] == "div"
        try:
            source = tex(formula, fractions=is_block) if written else formula
            drawing: str = convert(source, display="block" if is_block else "inline")
        except Exception as error:
            raise ValueError(f"{place}: the formula {formula!r} cannot be read: {error}") from error
        return f'<div class="formula">{drawing}</div>' if is_block else drawing

    done = MARKED.sub(drawn, page)
    if left := LEFT.search(CODE.sub("", done)):
        raise ValueError(
            f"{place}: the formula {left[0]!r} is left as text; put it into a paragraph of its own"
        )
    return done


def tex(formula: str, *, fractions: bool = False) -> str:
    r"""Return a formula in TeX.

    Parameters
    ----------
    formula
        What one would type: factors side by side, ``sqrt(...)``, ``x^2``, ``x_max``, Greek letters by their names.
    fractions
        Whether quotients are drawn as fractions, not with a slash. All factors before the slash are the numerator.

    Raises
    ------
    ValueError
        A bracket is not closed, or an operand is missing; the message says what was expected.

    Examples
    --------
    >>> tex("T = sqrt(2 (1 - p) / (b p)) / RTT", fractions=True)
    'T = \\frac{\\sqrt{\\frac{2 (1 - p)}{b p}}}{\\mathrm{RTT}}'
    """
    return _Reader(formula, fractions).read()


class _Reader:
    """Reads a formula from left to right."""

    def __init__(self, formula: str, fractions: bool) -> None:
        self.tokens: list[str] = [token for found in TOKEN.findall(formula) for token in found if token]
        self.fractions = fractions

    @property
    def next(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def take(self, *accepted: str) -> str:
        if not self.tokens or (accepted and self.next not in accepted):
            raise ValueError(
                f"{' or '.join(accepted) or 'an operand'} expected before {self.next or 'its end'!r}"
            )
        return self.tokens.pop(0)

    def read(self, closing: str = "") -> str:
        """Read terms and the signs between them, up to a bracket or the end."""
        parts = []
        while self.tokens and self.next != closing:
            is_sign = not self.next[0].isalnum() and self.next not in CLOSING
            parts.append(_sign(self.next) if is_sign else self.product())
            if is_sign and self.take() in (")", "]"):
                raise ValueError("a bracket is closed that was not opened")
        return " ".join(parts)

    def product(self) -> str:
        """Read factors side by side, and their quotients."""
        product, bare = self.factor()
        while self.next and (self.next[0].isalnum() or self.next in CLOSING or self.next in "*/"):
            if self.next == "/":
                self.take()
                divisor, inner = self.factor()
                product = rf"\frac{{{bare}}}{{{inner}}}" if self.fractions else f"{product} / {divisor}"
            elif self.next == "*":
                self.take()
                product = rf"{product} \cdot {self.factor()[0]}"
            else:
                is_apart = product.endswith(("}", r"\ln", r"\log")) and self.next not in CLOSING
                gap = r" \, " if is_apart else " "
                product = f"{product}{gap}{self.factor()[0]}"
            bare = product
        return product

    def factor(self) -> tuple[str, str]:
        """Read a factor with its powers and indices; return it, and it without brackets around the whole of it."""
        factor, bare = self.atom()
        while self.next and self.next in "^_":
            factor += self.take() + "{" + self.atom()[1] + "}"
            bare = factor
        return factor, bare

    def atom(self) -> tuple[str, str]:
        token = self.take()
        if token in CLOSING:
            inner = self.read(CLOSING[token])
            closing = self.take(CLOSING[token])
            grown = (r"\left", r"\right") if r"\frac" in inner else ("", "")
            return f"{grown[0]}{token}{inner}{grown[1]}{closing}", inner if token == "(" else f"[{inner}]"
        if token == "-":
            return (negative := f"-{self.atom()[0]}"), negative
        if token in ROOTS:
            self.take("(")
            root = f"{ROOTS[token]}{{{self.read(')')}}}"
            self.take(")")
            return root, root
        if not token[0].isalnum():
            raise ValueError(f"an operand expected instead of {token!r}")
        name = _name(token)
        return name, name


def _sign(token: str) -> str:
    """Return a sign between terms; a comma with several spaces separates formulas."""
    return r", \quad" if token.startswith(",  ") else SIGNS.get(token, token)


def _name(token: str) -> str:
    """Return a number, a letter, a Greek letter, an operator, or a word in upright letters."""
    word = token.rstrip("'")
    if COMMANDS.fullmatch(word):
        return f"\\{token}"
    return rf"\mathrm{{{word}}}{token[len(word) :]}" if len(word) > 1 and word.isalpha() else token
