# SPDX-License-Identifier: BSD-3-Clause
"""Expressions of experiment files: Python's arithmetic, comparisons and lists, and calls of the functions
that are given. They reach nothing else of Python. An unknown name stands for its own text."""
import ast
import math
import operator
import re
from collections.abc import Callable
from typing import Any, NoReturn

from . import LabError

Value = int | float | str
Look = Callable[[str], Any]  # the value of a name, or KeyError

OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min, "max": max, "abs": abs, "round": round, "sqrt": math.sqrt, "log": math.log}


def power(a: float, b: float) -> float:
    if abs(b) > 64:
        raise ValueError("an exponent is at most 64")
    if a < 0 and b != int(b):
        raise ValueError("a number below 0 has no such power")
    return float(a) ** b


class Evaluator:
    """Any: an expression may be a number, a text, a list or a truth value."""

    def __init__(self, look: Look, functions: dict[str, Callable[..., Any]]) -> None:
        self.look, self.functions = look, functions

    def run(self, node: ast.AST) -> Any:
        return getattr(self, "on_" + type(node).__name__.lower(), self.refuse)(node)

    def refuse(self, node: ast.AST) -> NoReturn:
        raise ValueError(f"{type(node).__name__} is not part of expressions")

    def on_expression(self, node: ast.Expression) -> Any:
        return self.run(node.body)

    def on_constant(self, node: ast.Constant) -> Any:
        return node.value

    def on_name(self, node: ast.Name) -> Any:
        try:
            return self.look(node.id)
        except KeyError:
            return node.id

    def on_attribute(self, node: ast.Attribute) -> str:
        """A measure's name may have dots: throughput.bulk."""
        return f"{self.dotted(node.value)}.{node.attr}"

    def dotted(self, node: ast.AST) -> str:
        if isinstance(node, ast.Attribute):
            return self.on_attribute(node)
        return node.id if isinstance(node, ast.Name) else self.refuse(node)

    def on_list(self, node: ast.List | ast.Tuple) -> list[Any]:
        return [self.run(e) for e in node.elts]

    on_tuple = on_list

    def on_unaryop(self, node: ast.UnaryOp) -> Any:
        return OPERATORS[type(node.op)](self.run(node.operand))

    def on_binop(self, node: ast.BinOp) -> Any:
        a, b = self.run(node.left), self.run(node.right)
        if isinstance(node.op, ast.Pow):
            return power(a, b)
        if type(node.op) not in OPERATORS or not all(isinstance(v, (int, float)) for v in (a, b)):
            self.refuse(node)
        return OPERATORS[type(node.op)](a, b)

    def on_boolop(self, node: ast.BoolOp) -> bool:
        values = (self.run(v) for v in node.values)
        return all(values) if isinstance(node.op, ast.And) else any(values)

    def on_compare(self, node: ast.Compare) -> bool:
        left = self.run(node.left)
        for op, comparator in zip(node.ops, node.comparators):
            right = self.run(comparator)
            if type(op) not in OPERATORS:
                self.refuse(op)
            if not OPERATORS[type(op)](left, right):
                return False
            left = right
        return True

    def on_ifexp(self, node: ast.IfExp) -> Any:
        return self.run(node.body if self.run(node.test) else node.orelse)

    def on_call(self, node: ast.Call) -> Any:
        if not isinstance(node.func, ast.Name) or node.func.id not in self.functions:
            raise ValueError(f"there is no such function; there are: {', '.join(sorted(self.functions))}")
        keywords: dict[Any, Any] = {k.arg: self.run(k.value) for k in node.keywords}
        return self.functions[node.func.id](*[self.run(a) for a in node.args], **keywords)


def evaluate(text: str, look: Look, where: str, functions: dict[str, Callable[..., Any]] | None = None) -> Any:
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return Evaluator(look, {**FUNCTIONS, **(functions or {})}).run(tree)
    except LabError:
        raise
    except (SyntaxError, ValueError, TypeError, KeyError, ZeroDivisionError, OverflowError) as e:
        why = "is not an expression" if isinstance(e, SyntaxError) else str(e) or type(e).__name__
        raise LabError(f"{where}: \"{text.strip()}\": {why}; correct it") from e


def number(text: str) -> Value:
    """The number that the text is. "nan" and "inf" are words: nothing can be calculated with them."""
    try:
        if re.fullmatch(r"[+-]?\d+", text):
            return int(text)
        value = float(text)
    except ValueError:
        return text
    return value if math.isfinite(value) else text


def same(a: object, b: object) -> bool:
    """Compares two values of a parameter, as numbers if both are numbers."""
    x, y = number(str(a)), number(str(b))
    if isinstance(x, str) or isinstance(y, str):
        return str(x) == str(y)
    return math.isclose(x, y, rel_tol=1e-9)


def plain(value: Any) -> str:
    """Text that base/value.h reads: without an exponent unless the value is tiny."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if value == int(value) and abs(value) < 1e15:
            return str(int(value))
        return f"{value:.15f}".rstrip("0") if abs(value) >= 1e-6 else f"{value:.9g}"
    return str(value)


def fill(text: str, look: Look, where: str) -> str:
    """The text with each ${expression} replaced by its value."""
    def strict(name: str) -> Any:
        try:
            return look(name)
        except KeyError as e:
            raise LabError(f"{where}: ${{...}}: there is no parameter {name}; give it a default in "
                           "[parameters]") from e

    def value(expression: str) -> str:
        found = evaluate(expression, strict, where)
        if isinstance(found, float) and not math.isfinite(found):
            raise LabError(f"{where}: \"{expression.strip()}\": the value is {found}, not a number; correct it")
        return plain(found)

    return re.sub(r"\$\{([^}]*)\}", lambda m: value(m[1]), text)
