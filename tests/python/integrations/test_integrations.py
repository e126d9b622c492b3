# SPDX-License-Identifier: Apache-2.0
"""Trainers of other packages, the real ones, with our callbacks, profiler and tracker in them."""

import warnings

import pytest
from needed import package

torch = pytest.importorskip("torch")

import regimeter  # noqa: E402
from regimeter.integrations import torch_benchmark  # noqa: E402

STEPS = 4


def names_of(run):
    return [run.string(name) for name in run.spans.name]


def roles_of(run):
    return {run.string(category) for category in run.spans.category}


def batches(rows=STEPS * 2, **options):
    data = torch.utils.data.TensorDataset(torch.randn(rows, 6), torch.randn(rows, 3))
    return torch.utils.data.DataLoader(data, batch_size=2, **options)


# --- Lightning ------------------------------------------------------------------------------------------------


@pytest.fixture
def fit(tmp_path):
    package("lightning")
    import lightning.pytorch as pl

    class Module(pl.LightningModule):
        def __init__(self, failing=-1):
            super().__init__()
            self.net, self.failing = torch.nn.Linear(6, 3), failing

        def training_step(self, batch, index):
            if index == self.failing:
                raise KeyError("gone")
            return torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    def run(failing=-1, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trainer = pl.Trainer(
                max_epochs=1, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False,
                enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path, **options,
            )  # fmt: skip
            torch.manual_seed(0)
            module = Module(failing)
            trainer.fit(module, batches())
        return module

    return run


def test_lightnings_callback_records_a_fit(fit, tmp_path, capsys):
    from regimeter.integrations.lightning import RegimeterCallback

    plain = fit()
    callback = RegimeterCallback(tmp_path / "fit.rgm", html=tmp_path / "fit.html", stacks=False)
    watched = fit(callbacks=[callback])
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), watched.parameters(), strict=True))
    run = regimeter.load(tmp_path / "fit.rgm")
    assert names_of(run)[0] == "Trainer.fit"
    assert {"step", "data_wait", "forward", "backward", "optimizer"} <= roles_of(run)
    assert int(run.spans.step.max()) + 1 == STEPS
    assert len(callback.run.spans) == len(run.spans)
    assert (tmp_path / "fit.html").stat().st_size > 1000
    assert "Limit:" in capsys.readouterr().err


def test_a_fit_that_fails_is_recorded_as_failed(fit, tmp_path):
    from regimeter.integrations.lightning import RegimeterCallback

    callback = RegimeterCallback(tmp_path / "fit.rgm", show=False, stacks=False)
    with pytest.raises(KeyError, match="gone"):
        fit(failing=2, callbacks=[callback])
    assert callback.recording.profiler is None
    outer = callback.run.get_entries()[0]
    assert outer.operation == "Trainer.fit"
    assert outer.failed


def test_lightnings_actions_are_scopes(fit, make_profiler):
    from regimeter.integrations.lightning import RegimeterProfiler

    profiler = make_profiler()
    found = RegimeterProfiler(profiler)
    fit(profiler=found)
    run = profiler.run()
    names = names_of(run)
    assert names.count("run_training_batch") == STEPS
    assert sum(name.endswith(".training_step") and name.startswith("[Strategy]") for name in names) == STEPS
    assert {"data_wait", "forward", "backward"} <= roles_of(run)
    assert "run_training_batch" in found.summary()
    assert found._open == {}
    with pytest.raises(ValueError, match="'run_training_batch' was not started"):
        found.stop("run_training_batch")


def test_roles_are_not_given_twice(fit, make_profiler):
    from regimeter.integrations.lightning import RegimeterProfiler

    profiler = make_profiler(structure=True)
    fit(profiler=RegimeterProfiler(profiler))
    run = profiler.run()
    waits = [
        name for name, role in zip(run.spans.name, run.spans.category, strict=True) if run.string(role) == "data_wait"
    ]
    assert {run.string(name) for name in waits} <= {"DataLoader.__next__", "DataLoader.__iter__"}
    assert any(name.endswith("_next") and name.startswith("[") for name in names_of(run))


def test_where_lightning_copies_what_torch_compile_is_given_compilation_is_analysed(fit, tmp_path):
    """It puts itself in front of torch.compile for good, and keeps a deep copy of the arguments."""
    assert hasattr(torch.compile, "__wrapped__")
    analyzer = regimeter.TorchCompileAnalyzer(backend="eager", output_dir=tmp_path / "compile")
    report = analyzer.analyze(torch.nn.Linear(2, 2), torch.ones(1, 2))
    assert report.graphs == 1


# --- Hugging Face ---------------------------------------------------------------------------------------------


def test_the_trainer_of_transformers_is_recorded(tmp_path, capsys):
    transformers = package("transformers")
    package("accelerate")
    from regimeter.integrations.transformers import RegimeterCallback

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Linear(6, 3)

        def forward(self, x, labels):
            return {"loss": torch.nn.functional.mse_loss(self.net(x), labels)}

    rows = [{"x": torch.randn(6), "labels": torch.randn(3)} for _ in range(STEPS * 2)]
    callback = RegimeterCallback(tmp_path / "fit.rgm", stacks=False)
    asked = transformers.TrainingArguments(
        output_dir=str(tmp_path / "out"), max_steps=STEPS, per_device_train_batch_size=2, use_cpu=True, report_to=[],
        save_strategy="no", logging_strategy="no", disable_tqdm=True,
    )  # fmt: skip
    trainer = transformers.Trainer(model=Net(), args=asked, train_dataset=rows, callbacks=[callback])
    trainer.train()
    assert trainer.state.global_step == STEPS
    run = regimeter.load(tmp_path / "fit.rgm")
    assert names_of(run)[0] == "Trainer.train"
    assert {"step", "data_wait", "forward", "backward", "optimizer"} <= roles_of(run)
    assert names_of(run).count("backward") == STEPS
    assert "Limit:" in capsys.readouterr().err
    trainer.train()  # a second training of the same callback is a recording of its own
    assert names_of(callback.run).count("backward") == STEPS


def test_accelerates_tracker_records_until_the_end(tmp_path):
    accelerate = package("accelerate")
    from regimeter.integrations.accelerate import RegimeterTracker

    tracker = RegimeterTracker(tmp_path / "fit.rgm", show=False, stacks=False)
    accelerator = accelerate.Accelerator(cpu=True, log_with=tracker)
    accelerator.init_trackers("fit", config={"lr": 0.1})
    net = torch.nn.Linear(6, 3)
    net, optimizer, loader = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1), batches())
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), y)
        accelerator.backward(loss)
        optimizer.step()
        accelerator.log({"loss": loss.item()}, step=step)
    accelerator.end_training()
    run = regimeter.load(tmp_path / "fit.rgm")
    assert names_of(run)[0] == "training"
    assert {"data_wait", "forward", "backward", "optimizer"} <= roles_of(run)
    marks = [entry.metadata for entry in run.get_entries() if entry.operation == "log"]
    assert [mark["at_step"] for mark in marks] == list(range(STEPS))
    assert all(mark["loss"] > 0 for mark in marks)


def test_a_rank_is_part_of_the_name_of_its_file(tmp_path):
    from regimeter.integrations.recording import FitRecording

    for rank in (0, 1):
        recording = FitRecording(tmp_path / "fit.rgm", None, False, {"stacks": False, "structure": False})
        recording.begin("fit", rank, 2)
        recording.begin("fit", rank, 2)  # one that nobody ended
        recording.end()
        recording.end()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fit.rank0.rgm", "fit.rank1.rgm"]


# --- torch.utils.benchmark ------------------------------------------------------------------------------------


def measured(loops, count=5, **task):
    from torch.utils.benchmark import Timer

    timer = Timer("for _ in range(n): x.add(1)", globals={"x": torch.ones(8), "n": loops}, label="add", **task)
    return [timer.timeit(20) for _ in range(count)]


def test_measurements_become_samples():
    first, second = measured(2, 3), measured(2, 2, num_threads=2)
    samples = torch_benchmark.samples_of(first)
    assert samples == {"add": [one.times for one in first]}
    both = torch_benchmark.samples_of([*first, *second])
    assert {name: len(launches) for name, launches in both.items()} == {"add (1 threads)": 3, "add (2 threads)": 2}


def test_measurements_are_compared():
    comparison = torch_benchmark.compare_measurements(measured(2), measured(60))
    [row] = comparison.comparisons
    assert row.operation == "add"
    assert row.change_percent > 100
    assert row.baseline_launches == row.current_launches == 5
    assert "measurement" in comparison.to_text()


def test_what_is_no_measurement_is_refused():
    with pytest.raises(TypeError, match=r"a torch\.utils\.benchmark\.Measurement is expected, not float"):
        torch_benchmark.compare_measurements([1.0], [2.0])
