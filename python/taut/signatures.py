"""Signatures of compiled functions, for `inspect.signature`: read from the text that their help begins with."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any


def of(function: Any) -> inspect.Signature:
    """Of a compiled function or method; of one that is bound, without `self`."""
    if hasattr(function, "__self__"):
        signature = of(function.__func__)
        return signature.replace(parameters=list(signature.parameters.values())[1:])
    text, _, defaults = function.__nb_signature__[0]
    # Defaults stand apart: in the text there are their places, as \\0 or, where they have a text of their own, \\=0.
    text = re.sub(r"\\=?(\d+)", r"_default[\1]", text[text.rindex("def ") :])
    text = re.sub(r"numpy\.ndarray\[[^\]]*\]", "numpy.ndarray", text)  # types and shapes are not written as Python's
    definition = ast.parse(text.rstrip(": .") + ": ...").body[0]
    assert isinstance(definition, ast.FunctionDef)
    return inspect.Signature(
        list(_parameters(definition.args, defaults or ())),
        return_annotation=_text(definition.returns, inspect.Signature.empty),
    )


def _parameters(arguments: ast.arguments, defaults: tuple):
    by_position = [*arguments.posonlyargs, *arguments.args]
    given = [None] * (len(by_position) - len(arguments.defaults)) + list(arguments.defaults)
    for argument, default in zip(by_position, given, strict=True):
        only = argument in arguments.posonlyargs
        kind = inspect.Parameter.POSITIONAL_ONLY if only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        yield _parameter(argument, kind, default, defaults)
    if arguments.vararg:
        yield _parameter(arguments.vararg, inspect.Parameter.VAR_POSITIONAL, None, defaults)
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(argument, inspect.Parameter.KEYWORD_ONLY, default, defaults)
    if arguments.kwarg:
        yield _parameter(arguments.kwarg, inspect.Parameter.VAR_KEYWORD, None, defaults)


def _parameter(argument: ast.arg, kind: Any, default: ast.expr | None, defaults: tuple) -> inspect.Parameter:
    value = inspect.Parameter.empty
    if default is not None:
        place = isinstance(default, ast.Subscript) and isinstance(default.slice, ast.Constant)
        value = defaults[default.slice.value] if place else ast.literal_eval(default)
    return inspect.Parameter(
        argument.arg, kind, default=value, annotation=_text(argument.annotation, inspect.Parameter.empty)
    )


def _text(annotation: ast.expr | None, empty: Any) -> Any:
    return empty if annotation is None else ast.unparse(annotation)
