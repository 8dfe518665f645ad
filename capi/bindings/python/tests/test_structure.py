"""How the package is built: no circular imports, imports at the top, short files."""

import ast
import pathlib
import unittest

WHOLE = pathlib.Path(__file__).resolve().parents[1] / "dl4"
PACKAGE = WHOLE / "keras"
# Imported by the functions that use them.
OPTIONAL = {"numpy", "matplotlib.pyplot", "dl4_full"}


def modules(package=PACKAGE):
    """Syntax trees by dotted name, "" for the package itself."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path, ast.parse(path.read_text())
    return found


def imported(name, path, tree, known):
    """The modules of the package that a module imports, with the packages around them, which Python imports first."""
    found = set()
    around = name.split(".") if path.stem == "__init__" and name else name.split(".")[:-1]
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.level or node.level > len(around) + 1:
            continue
        base = around[: len(around) + 1 - node.level] + (node.module.split(".") if node.module else [])
        for alias in node.names:
            inner = ".".join([*base, alias.name])
            found.add(inner if inner in known else ".".join(base))
    packages = {".".join(m.split(".")[:i]) for m in found for i in range(1, m.count(".") + 1)}
    own = {".".join(name.split(".")[:i]) for i in range(1, name.count(".") + 2)}
    return (found | packages) - own


def cycle(graph):
    """Modules that import each other in a circle; None if there are none."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return None
        path.append(name)
        for other in sorted(graph[name]):
            found = visit(other)
            if found:
                return found
        done.add(path.pop())
        return None

    return next((c for c in map(visit, sorted(graph)) if c), None)


class Structure(unittest.TestCase):
    def test_no_module_imports_itself_by_others(self):
        known = modules(WHOLE)
        graph = {name: imported(name, path, tree, known) & set(known) - {""} for name, (path, tree) in known.items()}
        self.assertIn("keras.src.layer", graph["keras.layers"])
        self.assertIsNone(cycle(graph))
        self.assertEqual(cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}}), ["a", "b", "c", "a"])

    def test_only_optional_packages_are_imported_in_functions(self):
        for name, (_, tree) in modules(WHOLE).items():
            for function in (n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.Lambda))):
                for node in ast.walk(function):
                    if isinstance(node, ast.ImportFrom):
                        self.fail(f"{name}:{node.lineno}: an import inside a function")
                    if isinstance(node, ast.Import):
                        self.assertLessEqual({a.name for a in node.names}, OPTIONAL, f"{name}:{node.lineno}")

    def test_files_are_short(self):
        for path in PACKAGE.rglob("*.py"):
            lines = path.read_text().splitlines()
            self.assertLessEqual(len(lines), 500, path)
            self.assertLessEqual(max(map(len, lines), default=0), 120, path)


if __name__ == "__main__":
    unittest.main()
