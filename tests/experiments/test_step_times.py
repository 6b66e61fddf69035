"""Step times of all methods."""

from ngs.experiments.step_times import step_times
from ngs.learning.methods import METHODS


def test_every_method_is_timed_against_supervision() -> None:
    times = step_times(rounds=1, batch_size=4)
    assert times["seconds"].keys() == METHODS.keys() and min(times["seconds"].values()) > 0
    ratio = times["seconds"]["m-bs"] / times["seconds"]["supervised"]
    assert times["times_supervised"]["m-bs"] == ratio
    grown = times["memory_mb"]["at_the_end"] - times["memory_mb"]["after_warm_up"]
    assert (
        times["memory_mb"]["after_warm_up"] > 0 and grown < 100
    )  # one more step of each method keeps nothing
