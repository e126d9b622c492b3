# SPDX-License-Identifier: Apache-2.0
"""The monitor: documented keys, figures of the device or honestly none, alerts that neither hang nor repeat."""

import json
import math
import threading
from datetime import timedelta

import fakes
import pytest

import regimeter.tuning.gpu_monitoring as module
from regimeter import GpuMonitor, MonitoringConfig, get_global_monitor
from regimeter.tuning.gpu_monitoring import DeviceReading

DOCUMENTED = {
    "total_kernel_calls", "successful_calls", "failed_calls", "utilization_percentage", "avg_execution_time_us",
    "peak_memory_mb", "current_memory_mb", "per_kernel_stats",
}  # fmt: skip
PER_KERNEL = {"call_count", "total_time_us", "avg_time_us", "min_time_us", "max_time_us", "success_rate"}
NOTHING = DeviceReading(None, None, None, "no device here")


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def make(clock, reading=NOTHING, alert=None, **config):
    return GpuMonitor(MonitoringConfig(**config), on_alert=alert, clock=clock, reader=lambda device: reading)


def test_documented_defaults():
    config = MonitoringConfig()
    assert (config.enable_profiling, config.max_metrics_buffer, config.enable_alerts) == (True, 10000, True)
    assert (config.high_utilization_threshold, config.high_memory_threshold) == (90, 85)


def test_the_exported_keys_and_their_values(clock, tmp_path):
    monitor = make(clock)
    monitor.record_kernel_execution("a", 0.002, 3_000_000, True)
    monitor.record_kernel_execution("a", timedelta(milliseconds=4), 1_000_000, False)
    monitor.record_kernel_execution("b", 0.001, None, True)
    clock.now = 0.1
    document = json.loads(monitor.export_json(tmp_path / "monitor.json"))
    assert json.loads((tmp_path / "monitor.json").read_text()) == document
    assert set(document) >= DOCUMENTED
    assert (document["total_kernel_calls"], document["successful_calls"], document["failed_calls"]) == (3, 2, 1)
    assert document["utilization_percentage"] == pytest.approx(7.0)
    assert document["utilization_source"] == "share of recorded time"
    assert document["avg_execution_time_us"] == pytest.approx(7000 / 3)
    assert (document["peak_memory_mb"], document["current_memory_mb"]) == (3.0, 1.0)
    assert document["memory_percentage"] is None
    assert document["device_reason"] == "no device here"
    kernel = document["per_kernel_stats"]["a"]
    assert set(kernel) >= PER_KERNEL
    assert (kernel["call_count"], kernel["min_time_us"], kernel["max_time_us"]) == (2, 2000, 4000)
    assert kernel["success_rate"] == 0.5


def test_nothing_recorded_is_nothing_known(clock):
    figures = make(clock).get_utilization_stats()
    for name in ("utilization_percentage", "avg_execution_time_us", "peak_memory_mb", "memory_percentage"):
        assert figures[name] is None
    assert "not known" in make(clock).get_report()


def test_a_flat_memory_load_is_no_alert(clock):
    # current / peak of what was reported is 100 % here, which says nothing of the device.
    alerts = []
    monitor = make(clock, alert=alerts.append)
    for _ in range(100):
        clock.now += 1
        monitor.record_kernel_execution("a", 0.001, 1_000_000, True)
    assert not alerts
    assert monitor.get_utilization_stats()["memory_percentage"] is None


def test_figures_of_the_device_come_first(clock):
    monitor = make(clock, DeviceReading(42.0, 30e9, 80e9, ""))
    clock.now = 1
    monitor.record_kernel_execution("a", 0.5, None, True)
    figures = monitor.get_utilization_stats()
    assert (figures["utilization_percentage"], figures["utilization_source"]) == (42.0, "device")
    assert figures["recorded_share_percentage"] == pytest.approx(50.0)
    assert figures["memory_percentage"] == pytest.approx(37.5)
    assert figures["device_memory_total_mb"] == 80_000


def test_an_alert_comes_once_until_the_figure_falls(clock):
    readings = {"now": DeviceReading(95.0, 1.0, 100.0, "")}
    alerts = []
    monitor = GpuMonitor(
        MonitoringConfig(device_interval_seconds=0),
        on_alert=alerts.append,
        clock=clock,
        reader=lambda _: readings["now"],
    )
    for value, memory in [(95, 1), (96, 1), (50, 90), (91, 90), (10, 10), (10, 85), (10, 85)]:
        readings["now"] = DeviceReading(float(value), float(memory), 100.0, "")
        clock.now += 1
        monitor.record_kernel_execution("a", 0.001, None, True)
    assert [(alert.kind, alert.value) for alert in alerts] == [
        ("utilization", 95.0),
        ("memory", 90.0),
        ("utilization", 91.0),
        ("memory", 85.0),
    ]
    assert alerts[0].source == "device"
    assert "95.0 % (device)" in str(alerts[0])
    assert monitor.alert_count == 4


def test_an_alert_on_the_share_waits_and_says_what_it_is(clock):
    alerts = []
    monitor = make(clock, alert=alerts.append)
    clock.now = 0.01
    monitor.record_kernel_execution("a", 0.01, None, True)
    assert not alerts  # a hundredth of a second shows nothing
    clock.now = 2.0
    monitor.record_kernel_execution("a", 1.95, None, True)
    assert [alert.source for alert in alerts] == ["share of recorded time"]


def test_a_callback_may_use_the_monitor(clock):
    done = threading.Event()

    def on_alert(alert):
        monitor.record_kernel_execution("from the callback", 0.001, None, True)
        monitor.get_report()
        monitor.export_json()
        monitor.get_utilization_stats()
        done.set()

    monitor = make(clock, DeviceReading(99.0, 99.0, 100.0, ""), alert=on_alert)
    thread = threading.Thread(target=monitor.record_kernel_execution, args=("a", 0.001), daemon=True)
    thread.start()
    thread.join(300)
    assert done.is_set()
    assert not thread.is_alive()
    assert monitor.get_utilization_stats()["total_kernel_calls"] == 3  # one of the program, one of each alert


def test_what_a_callback_raises_is_counted(clock):
    def on_alert(alert):
        raise RuntimeError("no")

    monitor = make(clock, DeviceReading(99.0, None, None, ""), alert=on_alert)
    monitor.record_kernel_execution("a", 0.001, None, True)
    assert monitor.alert_errors == 1
    assert "1 callbacks failed" in monitor.get_report()


def test_the_buffer_is_bounded_and_says_what_it_dropped(clock):
    monitor = make(clock, max_metrics_buffer=3)
    for number in range(5):
        clock.now = float(number)
        monitor.record_kernel_execution(f"k{number}", number * 1e-6, number, True)
    figures = monitor.get_utilization_stats()
    assert (figures["total_kernel_calls"], figures["kept_executions"], figures["dropped_executions"]) == (5, 3, 2)
    assert [(row["kernel"], row["seconds"], row["memory_bytes"]) for row in monitor.recent()] == [
        ("k2", 2.0, 2),
        ("k3", 3.0, 3),
        ("k4", 4.0, 4),
    ]
    assert "3 kept one by one, 2 dropped" in monitor.get_report()


def test_switched_off_parts_do_nothing(clock):
    silent = make(clock, DeviceReading(99.0, 99.0, 100.0, ""), enable_alerts=False)
    silent.record_kernel_execution("a", 1.0, None, True)
    assert silent.alert_count == 0
    off = make(clock, enable_profiling=False)
    off.record_kernel_execution("a", 1.0, None, True)
    assert off.get_utilization_stats()["total_kernel_calls"] == 0


@pytest.mark.parametrize("duration", [-1.0, math.nan, math.inf, timedelta(seconds=-1)])
def test_durations_that_cannot_be(clock, duration):
    monitor = make(clock)
    with pytest.raises(ValueError, match="duration"):
        monitor.record_kernel_execution("a", duration, None, True)
    with pytest.raises(ValueError, match="memory"):
        monitor.record_kernel_execution("a", 1.0, -5, True)
    assert monitor.get_utilization_stats()["total_kernel_calls"] == 0


def test_settings_that_cannot_be():
    for bad in ({"max_metrics_buffer": -1}, {"high_memory_threshold": math.nan}, {"device_interval_seconds": -1}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            MonitoringConfig(**bad)


def test_threads_lose_nothing_and_do_not_hang(clock):
    monitor = GpuMonitor(
        MonitoringConfig(device_interval_seconds=0, max_metrics_buffer=50),
        on_alert=lambda alert: monitor.get_report(),
        reader=lambda device: DeviceReading(float(threading.get_ident() % 2 * 99), None, None, ""),
    )

    def work():
        for _ in range(500):
            monitor.record_kernel_execution("a", 1e-6, 10, True)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not any(thread.is_alive() for thread in threads)
    assert monitor.get_utilization_stats()["total_kernel_calls"] == 2000


def test_the_device_is_asked_at_most_once_an_interval(clock):
    asked = []

    def reader(device):
        asked.append(device)
        return NOTHING

    monitor = GpuMonitor(MonitoringConfig(device=3), clock=clock, reader=reader)
    for _ in range(100):
        clock.now += 0.1
        monitor.record_kernel_execution("a", 0.001, None, True)
    assert set(asked) == {3}
    assert 9 <= len(asked) <= 11


def test_there_is_one_global_monitor(monkeypatch):
    monkeypatch.setattr(module, "_global", None)
    found = []
    threads = [threading.Thread(target=lambda: found.append(get_global_monitor())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(monitor) for monitor in found}) == 1
    assert get_global_monitor() is found[0]


def test_figures_of_nvml_on_its_double(run_python):
    script = """
        import regimeter
        from regimeter.system import telemetry
        monitor = regimeter.GpuMonitor()
        monitor.record_kernel_execution("a", 0.001, None, True)
        figures, now = monitor.get_utilization_stats(), telemetry.read(0)
        assert figures["utilization_source"] == "device", figures
        used, total = now["memory_used_bytes"].value, now["memory_total_bytes"].value
        assert figures["device_memory_total_mb"] == total / 1e6, figures
        assert abs(figures["memory_percentage"] - 100 * used / total) < 1, figures
        print("ok")
    """
    assert run_python(script, env=fakes.environment(cuda="", nvml="")).stdout.strip() == "ok"
