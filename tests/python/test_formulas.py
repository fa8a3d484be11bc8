"""Formulas of the site are MathML: those in TeX, and those of sources that are written as text."""

import ast
import re

import algorithms
import formulas
import markdown
import pytest
import repository
import yaml
from draw import notebooks

from dumbbell.engine import catalogue

DOCUMENTS = [
    *sorted((repository.ROOT / "docs").glob("*.md")),
    *map(repository.ROOT.joinpath, repository.MOVED),
]


def options():
    """Return the options of the Markdown extension that marks formulas."""
    text = re.sub(r"!!\S+", "", (repository.ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    extensions = yaml.safe_load(text)["markdown_extensions"]
    return next(each["pymdownx.arithmatex"] for each in extensions if "pymdownx.arithmatex" in each)


def page(text, place="models.md"):
    """Return the HTML of a page with its formulas typeset."""
    name = "pymdownx.arithmatex"
    made = markdown.markdown(text, extensions=[name, "tables"], extension_configs={name: options()})
    return formulas.typeset(made, place)


@pytest.mark.parametrize(
    ("written", "slash", "fraction"),
    [
        ("x = -1", "x = - 1", "x = - 1"),
        ("3/4 W", "3 / 4 W", r"\frac{3}{4} \, W"),
        ("n alpha / (mu - nu)", r"n \alpha / (\mu - \nu)", r"\frac{n \alpha}{\mu - \nu}"),
        ("a / b / c", "a / b / c", r"\frac{\frac{a}{b}}{c}"),
        ("(a + b) c / d", "(a + b) c / d", r"\frac{(a + b) c}{d}"),
        ("(a / b)^2", "(a / b)^{2}", r"\left(\frac{a}{b}\right)^{2}"),
        ("2^(k - 1) r", r"2^{k - 1} \, r", r"2^{k - 1} \, r"),
        ("RTT ln w", r"\mathrm{RTT} \, \ln \, w", r"\mathrm{RTT} \, \ln \, w"),
        ("sqrt(2 / p)", r"\sqrt{2 / p}", r"\sqrt{\frac{2}{p}}"),
        ("cbrt(W_max - cwnd)", r"\sqrt[3]{W_{\max} - \mathrm{cwnd}}", r"\sqrt[3]{W_{\max} - \mathrm{cwnd}}"),
        ("D' <= max(T, b_k)", r"D' \le \max (T , b_{k})", r"D' \le \max (T , b_{k})"),
        ("x,   y +- 0.5", r"x , \quad y \pm 0.5", r"x , \quad y \pm 0.5"),
    ],
)
def test_a_formula_written_as_text_is_translated(written, slash, fraction):
    assert formulas.tex(written) == slash
    assert formulas.tex(written, fractions=True) == fraction


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("(a", r"\) expected before 'its end'"),
        ("a)", "not opened"),
        ("[a)", "not opened"),
        ("sqrt x", r"\( expected before 'x'"),
        ("a /", "operand"),
        ("a ^ = b", "operand"),
    ],
)
def test_what_is_no_formula_is_refused(written, said):
    with pytest.raises(ValueError, match=said):
        formulas.tex(written)
    with pytest.raises(ValueError, match=r"reference/x.md: the formula .* cannot be read"):
        page(f"Of ${written}$.", "reference/x.md")


def test_dollars_are_mathml_without_a_script():
    made = page("Of $a_1 < b$, and\n\n$$\\frac{1}{2}$$\n\n| a |\n|---|\n| $x$ |\n\n`$HOME` and 5 $.")
    assert made.count("<math") == 3
    assert '<div class="formula"><math xmlns="http://www.w3.org/1998/Math/MathML" display="block"' in made
    assert "<msub><mi>a</mi><mn>1</mn></msub><mo>&#x0003C;</mo>" in made
    assert "<mfrac>" in made
    assert "<code>$HOME</code> and 5 $." in made
    assert "<script" not in made


def test_pages_from_sources_are_written_as_text():
    assert "<msqrt>" in page("$sqrt(p)$", "algorithms/reno.md")
    assert "<msqrt>" in page("$sqrt(p)$", "reference/dumbbell.models.md")
    assert "<msqrt>" not in page("$sqrt(p)$", "models.md")


def test_a_formula_that_is_left_as_text_fails_the_build():
    with pytest.raises(ValueError, match=r"models.md: the formula '\$p\$' is left as text"):
        page("<div>The rate $p$.</div>")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_formulas_of_documents_can_be_read(document):
    page(document.read_text(encoding="utf-8"))


@pytest.mark.parametrize("notebook", notebooks(), ids=lambda path: path.stem)
def test_formulas_of_notebooks_can_be_read(notebook):
    nbformat = pytest.importorskip("nbformat")
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type == "markdown":
            page(cell.source)


def test_formulas_of_algorithms_and_docstrings_can_be_read():
    count = 0
    for entry in catalogue()["algorithms"]:
        count += page(algorithms.head(entry["name"]), "algorithms/x.md").count("<math")
    assert count > 30
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for file in sorted((repository.ROOT / "python" / "dumbbell").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            described = (isinstance(node, kinds) and ast.get_docstring(node)) or ""
            if "$" in described:
                count += page(described, "reference/x.md").count("<math")
    assert count > 150


def test_words_are_upright_and_letters_are_not():
    assert "<mi>W</mi>" in page("$W RTT$", "algorithms/x.md")
    assert '<mi mathvariant="normal">R</mi>' in page("$W RTT$", "algorithms/x.md")
