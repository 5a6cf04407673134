# SPDX-License-Identifier: Apache-2.0
"""Runs the tests beside it and prints TAP: run.py [FOLDER]. Doctests and the README's examples are cases, too."""

import doctest
import importlib
import pathlib
import pkgutil
import re
import sys
import unittest

import locus

HERE = pathlib.Path(__file__).resolve().parent


class Tap(unittest.TestResult):
    """A line for each case."""

    count = 0

    def say(self, fine: bool, test: unittest.TestCase, more: str = "") -> None:
        self.count += 1
        name = test.id().split(".", 1)[-1].replace(".test_", ": ").replace("_", " ").strip()
        print("ok" if fine else "not ok", "-", name, more, flush=True)

    def addSuccess(self, test: unittest.TestCase) -> None:
        self.say(True, test)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self.say(True, test, f"# SKIP {reason}")

    def _failed(self, test: unittest.TestCase, error: object) -> None:
        self.say(False, test)
        print("\n".join("# " + line for line in self._exc_info_to_string(error, test).splitlines()))  # type: ignore[attr-defined]

    def addFailure(self, test: unittest.TestCase, err: object) -> None:
        super().addFailure(test, err)  # type: ignore[arg-type]
        self._failed(test, err)

    def addError(self, test: unittest.TestCase, err: object) -> None:
        super().addError(test, err)  # type: ignore[arg-type]
        self._failed(test, err)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: object) -> None:
        super().addSubTest(test, subtest, err)  # type: ignore[arg-type]
        if err:
            self._failed(test, err)


def examples(readme: pathlib.Path, wanted: str) -> unittest.TestSuite:
    """The README's programs that begin with an import of `wanted`."""
    suite = unittest.TestSuite()
    for number, code in enumerate(re.findall(r"^```python\n(.*?)^```$", readme.read_text(), re.MULTILINE | re.DOTALL)):
        if f"import {wanted}\n" in code:
            suite.addTest(Example(number, code))
    if not suite.countTestCases():
        raise SystemExit(f"{readme} has no example of {wanted}")
    return suite


class Example(unittest.TestCase):
    """One program of the README."""

    def __init__(self, number: int, code: str) -> None:
        super().__init__("runs")
        self.number, self.code = number, code

    def id(self) -> str:
        return f"x.README: example {self.number + 1}"

    def runs(self) -> None:
        exec(compile(self.code, f"README, example {self.number + 1}", "exec"), {"__name__": "__main__"})  # noqa: S102


def main() -> int:
    folder = HERE / sys.argv[1] if len(sys.argv) > 1 else HERE
    suite = unittest.defaultTestLoader.discover(str(folder), top_level_dir=str(folder))
    if folder == HERE:
        for module in pkgutil.iter_modules(locus.__path__, "locus."):
            if module.name not in ("locus.hf", "locus.vllm", "locus._native"):
                suite.addTest(doctest.DocTestSuite(importlib.import_module(module.name)))
    wanted = {HERE: "locus", HERE / "hf": "locus.hf"}.get(folder)
    if wanted:
        suite.addTest(examples(HERE.parent / "README.md", wanted))
    result = Tap()
    suite.run(result)
    print(f"1..{result.count}")
    return 0 if result.wasSuccessful() and result.count else 1


sys.exit(main())
