"""`firstlight rfm`: kernel machines that learn features, on a user's table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from firstlight import _interrupts as interrupts
from firstlight.cli import _exits as exits
from firstlight.cli import _signals as signals
from firstlight.cli._terminal import screen
from firstlight.cli.commands._options import JsonOption, StoreOption, WaitOption, store_path

if TYPE_CHECKING:
    from firstlight.rfm import Comparison

app = App(name="rfm", help="Fit a kernel machine that learns features to a table.", sort_key=4)


@app.command
def fit(
    table: Annotated[Path, Parameter(help="A .csv, .tsv or .parquet file, one row per example.")],
    /,
    *,
    target: Annotated[str, Parameter(help="The column to predict.")],
    task: Annotated[
        Literal["auto", "classification", "regression"], Parameter(help="auto: by the type and number of values.")
    ] = "auto",
    folds: Annotated[int, Parameter(help="Folds of the cross-validation.")] = 5,
    update: Annotated[
        Literal["auto", "fact", "fact_geometric", "nfa"], Parameter(help="How the metric is updated.")
    ] = "auto",
    seed: Annotated[int, Parameter(help="Seed of the folds.")] = 0,
    report: Annotated[Path | None, Parameter(help="Where the page goes [default: TABLE.rfm.html].")] = None,
    model: Annotated[
        Path | None,
        Parameter(
            help="Where the model goes [default: beside TABLE, as .rfm.safetensors, which rfm.load reads and nothing "
            "executes; .joblib pickles it]."
        ),
    ] = None,
    store: StoreOption = None,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
) -> int:
    """Compare RFM with plain kernel ridge regression and gradient boosting, then fit it to all rows."""
    if not table.is_file():
        raise exits.UserError(f"there is no file {table}; give a .csv, .tsv or .parquet file")
    from firstlight.cli._terminal.progress import Bar
    from firstlight.report import write
    from firstlight.rfm import compare, read_table
    from firstlight.runs import writing

    page, store_file = report or table.with_suffix(".rfm.html"), store_path(store)
    frame = read_table(table)
    model_file = _model_file(table, model)
    signals.resumes(lambda: "a fit keeps nothing before it ends; the same command starts it again")
    count = 3 * folds + 1
    with Bar("fits") as bar:

        def progress(fraction: float, note: str) -> None:
            bar.update(fraction * count, count, note)
            bar.remark(note, None)

        comparison = compare(frame, target, task=task, folds=folds, seed=seed, update=update, progress=progress)
    records = list(comparison.records.values())
    with interrupts.deferred():
        write(page, records, title=f"{table.name}: {target}")
        _write_model(comparison, model_file)
        with writing(store_file, wait=wait) as opened:
            for record in records:
                opened.put_fit(record)
    if json:
        screen.print_json({name: record.model_dump(exclude={"figures"}) for name, record in comparison.records.items()})
    else:
        _print_comparison(comparison)
        screen.say(f"report: {page}\nmodel: {model_file}")
    return exits.OK


def _model_file(table: Path, given: Path | None) -> Path:
    """Return where the model goes."""
    path = given or table.with_suffix(".rfm.safetensors")
    if path.suffix not in (".joblib", ".safetensors"):
        raise exits.UserError(f"--model: a .joblib or .safetensors file, got {path.name}")
    return path


def _write_model(comparison: "Comparison", path: Path) -> None:
    if path.suffix == ".safetensors":
        comparison.model.save(path)
        return
    import io

    import joblib

    from firstlight._files import write_atomically

    buffer = io.BytesIO()
    joblib.dump(comparison.model, buffer)
    write_atomically(path, buffer.getvalue())


def _print_comparison(comparison: "Comparison") -> None:
    from firstlight import _canonical as canonical

    classify = comparison.task == "classification"
    rows = [
        (
            name,
            f"{mean:.4f} ± {deviation:.4f}",
            *([f"{comparison.records[name].scores['log_loss']:.4f}"] if classify else []),
            f"{seconds:.2f} s",
        )
        for name, mean, deviation, seconds in comparison.table()
    ]
    screen.say(f"{comparison.task} of {comparison.target}: {comparison.rows} rows, {comparison.columns} columns")
    head = ("method", f"{comparison.metric} (held-out folds)", *(["log loss"] if classify else []), "one fit")
    screen.print_table(head, rows)
    for name, reason in comparison.suspects.items():
        screen.say(f"check column {name}: it {reason}")
    for note in comparison.notes:
        screen.say(f"note: {note}")
    model: Any = comparison.model
    if not model.n_iter_:
        screen.say("RFM on all rows: no feature learning helped; plain kernel ridge regression was as good")
        return
    names = getattr(model, "feature_names_in_", [f"x{i}" for i in range(model.n_features_in_)])
    shares = model.feature_importances_
    top = ", ".join(f"{names[i]} {shares[i]:.0%}" for i in canonical.descending(shares)[:5])
    how = f"{model.update_} after {model.n_iter_} iterations"
    screen.say(f"RFM on all rows: {how}; columns that matter most: {top}")
