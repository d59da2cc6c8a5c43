from types import SimpleNamespace

from tests.costs import Costs


def test_what_was_counted_where_the_tests_ran_is_summed_by_room():
    costs = Costs()
    assert {costs}  # pytest keeps plugins in sets
    for nodeid, cost in {
        "tests/papers/lists/test_a.py::test_x[1]": (0.6, 1.0, 2),
        "tests/papers/test_b.py::test_x": (0.4, 0.0, 0),
        "tests/test_c.py::test_x": (9.0, 0.0, 1),
    }.items():
        report = SimpleNamespace(when="teardown", nodeid=nodeid, user_properties=[("cost", cost)])
        costs.pytest_runtest_logreport(report)
        report.when = "call"
        costs.pytest_runtest_logreport(report)
    assert costs.table()[2:] == [
        "| the whole house | 1 | 1 | 9 | 0 |",
        "| papers | 2 | 2 | 2 | 1 |",
        "| all | 3 | 3 | 11 | 1 |",
    ]
