# SPDX-License-Identifier: BSD-3-Clause
"""Expressions of experiment files: Python's arithmetic, comparisons, lists and calls of the functions
that are given; nothing else of Python can be reached. A name that nobody knows is its own text."""
import ast
import math
import operator
import re

from . import LabError

OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_,
}
FUNCTIONS = {"min": min, "max": max, "abs": abs, "round": round, "sqrt": math.sqrt, "log": math.log}


def power(a, b):
    if abs(b) > 64:
        raise ValueError("an exponent is at most 64")
    return float(a) ** b


class Evaluator:
    def __init__(self, look, functions):
        self.look, self.functions = look, functions

    def run(self, node):
        return getattr(self, "on_" + type(node).__name__.lower(), self.refuse)(node)

    def refuse(self, node):
        raise ValueError(f"{type(node).__name__} is not part of expressions")

    def on_expression(self, node):
        return self.run(node.body)

    def on_constant(self, node):
        return node.value

    def on_name(self, node):
        try:
            return self.look(node.id)
        except KeyError:
            return node.id

    def on_attribute(self, node):
        """A measure's name may have dots: throughput.bulk."""
        return f"{self.dotted(node.value)}.{node.attr}"

    def dotted(self, node):
        if isinstance(node, ast.Attribute):
            return self.on_attribute(node)
        return node.id if isinstance(node, ast.Name) else self.refuse(node)

    def on_list(self, node):
        return [self.run(e) for e in node.elts]

    on_tuple = on_list

    def on_unaryop(self, node):
        return OPERATORS[type(node.op)](self.run(node.operand))

    def on_binop(self, node):
        a, b = self.run(node.left), self.run(node.right)
        if isinstance(node.op, ast.Pow):
            return power(a, b)
        if type(node.op) not in OPERATORS or not all(isinstance(v, (int, float)) for v in (a, b)):
            self.refuse(node)
        return OPERATORS[type(node.op)](a, b)

    def on_boolop(self, node):
        values = (self.run(v) for v in node.values)
        return all(values) if isinstance(node.op, ast.And) else any(values)

    def on_compare(self, node):
        left = self.run(node.left)
        for op, right in zip(node.ops, node.comparators):
            right = self.run(right)
            if type(op) not in OPERATORS:
                self.refuse(op)
            if not OPERATORS[type(op)](left, right):
                return False
            left = right
        return True

    def on_ifexp(self, node):
        return self.run(node.body if self.run(node.test) else node.orelse)

    def on_call(self, node):
        if not isinstance(node.func, ast.Name) or node.func.id not in self.functions:
            raise ValueError(f"there is no such function; there are: {', '.join(sorted(self.functions))}")
        keywords = {k.arg: self.run(k.value) for k in node.keywords}
        return self.functions[node.func.id](*[self.run(a) for a in node.args], **keywords)


def evaluate(text, look, where, functions=None):
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return Evaluator(look, {**FUNCTIONS, **(functions or {})}).run(tree)
    except LabError:
        raise
    except (SyntaxError, ValueError, TypeError, KeyError, ZeroDivisionError, OverflowError) as e:
        why = "is no expression" if isinstance(e, SyntaxError) else str(e) or type(e).__name__
        raise LabError(f"{where}: \"{text.strip()}\": {why}; correct it") from e


def number(text):
    try:
        return float(text) if not re.fullmatch(r"[+-]?\d+", text) else int(text)
    except ValueError:
        return text


def plain(value):
    """As base/value.h reads it: no exponent where one is not needed."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if value == int(value) and abs(value) < 1e15:
            return str(int(value))
        return f"{value:.15f}".rstrip("0") if abs(value) >= 1e-6 else f"{value:.9g}"
    return str(value)


def fill(text, look, where):
    """Each ${expression} worked out."""
    def strict(name):
        try:
            return look(name)
        except KeyError as e:
            raise LabError(f"{where}: ${{...}}: there is no parameter {name}; give it a default in "
                           "[parameters]") from e

    return re.sub(r"\$\{([^}]*)\}", lambda m: plain(evaluate(m[1], strict, where)), text)
