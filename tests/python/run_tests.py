"""Runs one test file with unittest, and leaves the record of what ran that ./bootstrap reads (tests/support/test_main.cpp).

python3 run_tests.py FILE [NAME ...]
Environment: TROUPE_PROGRAM the program, TROUPE_SOURCE_DIR the repository; PYTHONPATH has the package.
"""

import faulthandler
import os
import sys
import unittest

LONGEST = int(os.environ.get("TROUPE_TEST_SECONDS", "240"))


class Recorder(unittest.TextTestResult):
    def startTest(self, test):
        super().startTest(test)
        faulthandler.dump_traceback_later(LONGEST, exit=True)

    def stopTest(self, test):
        faulthandler.cancel_dump_traceback_later()
        super().stopTest(test)


def write_record(result):
    bad = [str(test) for test, _ in result.failures + result.errors]
    lines = [f"passed {result.testsRun - len(bad) - len(result.skipped)}", f"failed {len(bad)}", f"skipped {len(result.skipped)}"]
    lines += [f"failed {name}" for name in bad]
    lines += [f"skipped {test}: {reason}" for test, reason in result.skipped]
    if os.environ.get("TROUPE_TEST_RECORD"):
        with open(os.environ["TROUPE_TEST_RECORD"], "w") as out:
            out.write("\n".join(lines) + "\n")


def main():
    folder, file = os.path.split(os.path.abspath(sys.argv[1]))
    sys.path.insert(0, folder)
    module = __import__(os.path.splitext(file)[0])
    loader = unittest.defaultTestLoader
    suite = loader.loadTestsFromNames(sys.argv[2:], module) if sys.argv[2:] else loader.loadTestsFromModule(module)
    result = unittest.TextTestRunner(resultclass=Recorder, verbosity=2).run(suite)
    write_record(result)
    if result.testsRun == 0:
        sys.exit("no tests were found")
    sys.stdout.flush()
    os._exit(0 if result.wasSuccessful() else 1)  # whatever threads a failed test has left


if __name__ == "__main__":
    main()
