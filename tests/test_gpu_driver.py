"""What is settled before a GPU is used: whether kernels are, and that processes wait for it asleep."""

import ctypes
from typing import Any

import pytest

import ngs.kernels
from ngs.gpu import BLOCKING_SYNC, sleep_while_waiting
from ngs.kernels import NAMES, devices


class Driver:
    """Has two devices, and keeps what it is told."""

    def __init__(self, refuses: bool = False) -> None:
        self.refuses, self.told = refuses, list[tuple[int, int]]()

    def cuInit(self, flags: int) -> int:
        return int(self.refuses)

    def cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = 2
        return 0

    def cuDevicePrimaryCtxSetFlags_v2(self, device: int, flags: int) -> int:
        self.told.append((device, flags))
        return 0


@pytest.mark.parametrize("refuses", [False, True])
def test_every_device_is_waited_for_asleep(refuses: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver without devices is told nothing."""
    driver = Driver(refuses)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
    sleep_while_waiting()
    assert driver.told == ([] if refuses else [(0, BLOCKING_SYNC), (1, BLOCKING_SYNC)])


@pytest.mark.parametrize("driver", [None, object()], ids=["none", "too old"])
def test_nothing_happens_without_a_driver_that_knows_it(
    driver: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(name: str) -> object:
        if driver is None:
            raise OSError(f"{name}: cannot open shared object file")
        return driver

    monkeypatch.setattr(ctypes, "CDLL", load)
    sleep_while_waiting()


@pytest.mark.parametrize(("triton", "where"), [(True, ("cuda",)), (False, ())])
def test_kernels_need_triton_and_a_gpu(
    triton: bool, where: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ngs.kernels, "HAS_TRITON", triton)
    assert devices(None) == dict.fromkeys(NAMES, where)


@pytest.mark.parametrize("wanted", [[], ["lstm"], ["decoder", "lstm"]])
def test_kernels_are_turned_off_by_name(wanted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngs.kernels, "HAS_TRITON", True)
    used = devices(",".join(wanted) or "off")
    assert [name for name in used if used[name]] == wanted


def test_a_kernel_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="NGS_KERNELS names lstms; give `off` or some of decoder,lstm"):
        devices("lstms")
