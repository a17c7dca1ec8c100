"""A line of a formula as LaTeX: names for Greek letters and signs. Fractions and raised parts are lost in reading."""

from __future__ import annotations

import re

__all__ = ["display_formula"]

_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ϵ": "epsilon", "ζ": "zeta", "η": "eta",
    "θ": "theta", "ϑ": "vartheta", "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "µ": "mu", "ν": "nu",
    "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma", "ς": "varsigma", "τ": "tau", "υ": "upsilon", "φ": "phi",
    "ϕ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda",
    "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip
_SIGNS = {
    "≤": "leq", "≥": "geq", "≠": "neq", "≈": "approx", "≡": "equiv", "∼": "sim", "≃": "simeq", "∝": "propto",
    "≪": "ll", "≫": "gg", "×": "times", "·": "cdot", "⋅": "cdot", "÷": "div", "±": "pm", "∓": "mp", "∗": "ast",
    "∑": "sum", "∏": "prod", "∫": "int", "∮": "oint", "√": "surd", "∂": "partial", "∇": "nabla", "∞": "infty",
    "∈": "in", "∉": "notin", "∋": "ni", "⊂": "subset", "⊆": "subseteq", "⊃": "supset", "⊇": "supseteq",
    "∪": "cup", "∩": "cap", "∅": "emptyset", "∀": "forall", "∃": "exists", "¬": "neg", "∧": "wedge", "∨": "vee",
    "→": "to", "←": "leftarrow", "↔": "leftrightarrow", "⇒": "Rightarrow", "⇐": "Leftarrow",
    "⇔": "Leftrightarrow", "↦": "mapsto", "…": "ldots", "⋯": "cdots", "∘": "circ", "⊕": "oplus", "⊗": "otimes",
    "⟨": "langle", "⟩": "rangle", "‖": "Vert", "∥": "parallel", "⊥": "perp", "∠": "angle", "ℝ": "mathbb{R}",
    "ℕ": "mathbb{N}", "ℤ": "mathbb{Z}", "ℚ": "mathbb{Q}", "ℂ": "mathbb{C}", "ℓ": "ell", "ℏ": "hbar",
}  # fmt: skip
_NAMES = _GREEK | _SIGNS
_PLAIN = {"−": "-", "–": "-", "′": "'", "″": "''", "＝": "=", "（": "(", "）": ")", "，": ",", "％": "%"}
_SPECIAL = re.compile(r"([#$%&_{}])")
_NUMBER = re.compile(r"^(?P<body>.*?\S)\s*[(（](?P<number>[0-9A-Z][0-9A-Za-z.\-]{0,6})[)）]\s*$", re.DOTALL)


def _line(text: str) -> str:
    text = _SPECIAL.sub(r"\\\1", text.replace("\\", " ").replace("^", " ").replace("~", " "))
    out = "".join(f"\\{_NAMES[char]} " if char in _NAMES else _PLAIN.get(char, char) for char in text)
    return re.sub(r" +", " ", out).strip()


def display_formula(lines: list[str]) -> str:
    r"""Display form ``\[ ... \]`` of the lines of one formula; a number in brackets at its end becomes a tag."""
    tag = ""
    if lines and (match := _NUMBER.match(lines[-1])) and re.search(r"[=<>≤≥≈≠∈→]", " ".join(lines)):
        lines = [*lines[:-1], match["body"]]
        tag = f" \\tag {{{match['number']}}}"
    body = [_line(line) for line in lines]
    return "\\[\n" + " \\\\\n".join(line for line in body if line) + tag + "\n\\]"
