"""Small changes to an expression that change the value of a formula."""

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
COMPARISON: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_PAIRS = (
    ("min", "max"),
    ("argmin", "argmax"),
    ("minimum", "maximum"),
    ("floor", "ceil"),
    ("sin", "cos"),
    ("any", "all"),
    ("zeros", "ones"),
    ("sum", "mean"),
    ("real", "imag"),
)
NAMES = {old: new for pair in _PAIRS for old, new in (pair, pair[::-1])}
UNWRAPPED = {"abs", "sqrt", "conj", "conjugate", "exp", "log", "square", "sort", "cumsum"}
TERMS = (ast.Add, ast.Sub, ast.Mult)
BUILTIN = {"min", "max", "any", "all"}
SKIPPED_FUNCTIONS = {"__repr__", "__str__", "_repr_html_", "_html_repr", "figure_data", "_figures"}
SKIPPED_CALLS = {"warn", "isinstance"}
SKIPPED_KEYWORDS = {"strict", "copy", "order", "optimize", "overwrite_a", "overwrite_b", "warn"}
"""Arguments that affect no number: a check of lengths, the layout of an array, the order of a contraction."""


@dataclass(frozen=True)
class Change:
    """An expression of a function body: its position and the text that replaces it."""

    operator: str
    line: int
    statement: int
    start: int
    end: int
    text: str


def changes(source: str) -> list[Change]:
    """Return every change of a module's source, in the order of the text.

    Only bodies of functions are changed, without docstrings, annotations, defaults, decorators, `raise`, f-strings and
    functions that display an object.

    >>> [change.text for change in changes("def f(a, b):\\n    return a - b\\n")]
    ['(a + b)', '(a)']
    """
    starts = _line_starts(source)
    out = []
    for statement, node in _expressions(ast.parse(source)):
        start, end = (
            starts[line - 1] + offset
            for line, offset in ((node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0))
        )
        for operator, made in variants(node):
            text = f"({ast.unparse(ast.fix_missing_locations(made))})"
            out.append(Change(operator, node.lineno, statement, start, end, text))
    return sorted(out, key=lambda change: (change.start, change.end, change.operator, change.text))


def changed(source: str, change: Change) -> str:
    """Return the source with a change applied; offsets are in bytes, as in `ast`."""
    raw = source.encode()
    return (raw[: change.start] + change.text.encode() + raw[change.end :]).decode()


def variants(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield the replacements of a node, with the names of the operators."""
    for operator in (_binary, _comparison, _constant, _boolean, _keyword, _call, _attribute):
        yield from operator(node)


def _with(node: ast.expr, change: Callable[..., None]) -> ast.expr:
    made = copy.deepcopy(node)
    change(made)
    return made


def _binary(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if not isinstance(node, ast.BinOp):
        return
    if isinstance(node.op, ast.MatMult):
        yield "order of a product", ast.BinOp(node.right, node.op, node.left)
    elif new := BINARY.get(type(node.op)):
        yield "arithmetic", ast.BinOp(node.left, new(), node.right)
    if isinstance(node.op, TERMS):
        yield "dropped term", node.left


def _comparison(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            new = COMPARISON[type(op)]()
            yield "comparison", _with(node, lambda made, i=i, new=new: made.ops.__setitem__(i, new))


def _constant(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if not isinstance(node, ast.Constant):
        return
    value = node.value
    if isinstance(value, bool):
        yield "constant", ast.Constant(not value)
    elif isinstance(value, int):
        yield "constant", ast.Constant(value + 1)
        if value > 0:
            yield "constant", ast.Constant(value - 1)
    elif isinstance(value, float):
        yield "constant", ast.Constant(2 * value if value else 1.0)
        if value:
            yield "constant", ast.Constant(0.0)


def _boolean(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.BoolOp):
        op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "boolean", ast.BoolOp(op, node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        # −1 is a negated constant, so its sign is mutated like any other sign.
        yield "boolean" if isinstance(node.op, ast.Not) else "sign", node.operand
    elif isinstance(node, ast.IfExp):
        yield "condition", ast.IfExp(node.test, node.orelse, node.body)


def _keyword(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Call):
        name = _name(node.func)
        for i, keyword in enumerate(node.keywords):
            # Constructors need their arguments: without them every mutant raises a TypeError.
            if keyword.arg not in {None, *SKIPPED_KEYWORDS} and not name[:1].isupper():
                yield "dropped keyword", _with(node, lambda made, i=i: made.keywords.pop(i))


def _call(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if not isinstance(node, ast.Call):
        return
    name = _name(node.func)
    if name in (NAMES if isinstance(node.func, ast.Attribute) else BUILTIN):
        yield "name", _with(node, lambda made: _rename(made.func, NAMES[name]))
    if name in UNWRAPPED:
        on_array = isinstance(node.func, ast.Attribute) and not node.args
        if on_array or len(node.args) == 1:
            yield "unwrapped", node.func.value if on_array else node.args[0]  # type: ignore[attr-defined]


def _attribute(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Attribute) and node.attr == "T":
        yield "transpose", node.value
    elif isinstance(node, ast.Attribute) and node.attr in ("real", "imag"):
        yield "name", ast.Attribute(node.value, NAMES[node.attr], ast.Load())


def _name(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


def _rename(func: ast.expr, name: str) -> None:
    if isinstance(func, ast.Attribute):
        func.attr = name
    elif isinstance(func, ast.Name):
        func.id = name


def _line_starts(source: str) -> list[int]:
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _expressions(tree: ast.Module) -> Iterator[tuple[int, ast.expr]]:
    """Yield the expressions in bodies of functions, each with the line of its statement."""

    def inside(node: ast.AST, statement: int) -> Iterator[tuple[int, ast.expr]]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name not in SKIPPED_FUNCTIONS:
                for child in node.body:
                    yield from inside(child, child.lineno)
            return
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert):
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        if isinstance(node, ast.Call) and _name(node.func) in SKIPPED_CALLS:
            return
        if isinstance(node, ast.keyword) and node.arg in SKIPPED_KEYWORDS:
            return
        if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            yield statement, node
        skipped = {"annotation", "returns"} | ({"args"} if isinstance(node, ast.Lambda) else set())
        for name, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and name not in skipped:
                    yield from inside(child, child.lineno if isinstance(child, ast.stmt) else statement)

    def functions(node: ast.AST) -> Iterator[ast.AST]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield child
            elif isinstance(child, ast.ClassDef | ast.If | ast.Try | ast.With):
                yield from functions(child)

    for function in functions(tree):
        yield from inside(function, 0)
