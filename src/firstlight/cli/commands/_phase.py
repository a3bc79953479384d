"""Phase diagrams in the terminal and as files; the sweeps of a store as a table."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firstlight.cli import _exits as exits
from firstlight.cli._terminal import screen


@dataclass(frozen=True)
class Wanted:
    """What to draw: where the sweep is, its axes, fields to hold fixed, theory, overrides of the sweep."""

    place: str
    x: str
    y: str
    where: tuple[str, ...]
    theory: bool
    overrides: tuple[str, ...] = ()


def show(wanted: Wanted, store: Path, data: Path | None, out: Path | None, json: bool) -> int:
    """Print a phase diagram, and write it into a file if asked."""
    from firstlight.cli._terminal.progress import Bar

    if out is not None:
        require_suffix(out)
    fixed = dict(_condition(text) for text in wanted.where)
    with Bar("points") as bar:
        from firstlight.sweeps import draw_all, draw_phase

        bar.update(0, 1, "reading runs")
        points, title = _points(wanted, store, data)
        _require_fields([spec for spec, _ in points], [wanted.x, wanted.y, *fixed])
        options = {"title": title, "theory": wanted.theory}
        if fixed:
            diagrams = [draw_phase(points, *_axes(points, wanted, fixed), fixed=fixed, **options)]
        else:
            diagrams = draw_all(points, wanted.x, wanted.y, **options)
    if json:
        screen.print_json([diagram.model_dump(exclude={"figures"}) for diagram in diagrams])
    else:
        print_diagrams(diagrams)
    if out is not None:
        write_diagrams(diagrams, out)
        screen.err().print(f"wrote {out}")
    return exits.OK


def print_diagrams(diagrams: list[Any]) -> None:
    """Print phase diagrams as text, with colours on a terminal."""
    from firstlight import plots

    console = screen.out()
    width = max(min(console.width - 1, 110), 24)
    for number, diagram in enumerate(diagrams):
        held = ", ".join(f"{label} = {screen.brief(value)}" for label, value in diagram.fixed.items())
        screen.say(("\n" if number else "") + diagram.title + (f"; {held}" if held else ""))
        for figure in diagram.figures:
            print(plots.terminal(figure, width=width, colour=console.is_terminal and not console.no_color))
        averaged = f" Averaged over {', '.join(diagram.averaged)} too." if diagram.averaged else ""
        screen.say(f"{diagram.story}{averaged}")
        if diagram.theory:
            screen.say(diagram.theory)


def write_diagrams(diagrams: list[Any], out: Path) -> None:
    """Write phase diagrams as a page, or as one figure of panels."""
    from firstlight import plots, report
    from firstlight.records import figure

    require_suffix(out)
    if out.suffix.lower() == ".html":
        report.write(out, diagrams, title=f"Phase diagram: {diagrams[0].title}", papers={})
        return
    drawings = [drawing for diagram in diagrams for drawing in diagram.figures]
    whole = drawings[0] if len(drawings) == 1 else figure.panels(drawings, columns=min(2, len(drawings)))
    plots.save(whole, out)


def list_families(store: Path, json: bool) -> int:
    """Print the families of runs of a store."""
    from firstlight.cli._terminal.progress import Bar
    from firstlight.records import Store

    with Bar("runs") as bar:
        from firstlight.sweeps import families, stored_outcomes

        bar.update(0, 1, "reading runs")
        with Store(store) as opened:
            known = families(stored_outcomes(opened))
    rows = [_facts(family) for family in known]
    if json:
        screen.print_json(rows)
        return exits.OK
    if not rows:
        screen.say(f"{store} has no sweep; `firstlight sweep SPEC` makes one")
        return exits.OK
    shown = [
        (r["id"], r["shared"], ", ".join(f"{name} {count}" for name, count in r["varies"].items()), r["seeds"],
         r["runs"], f"{r['generalised']} of {r['ended']}")
        for r in rows
    ]  # fmt: skip
    screen.print_table(("sweep", "shared", "values", "seeds", "runs", "generalised"), shown, wrap=("shared", "values"))
    screen.say("`firstlight sweeps phase SWEEP` draws the phase diagram of a sweep")
    return exits.OK


def stored_status(place: str, store: Path, json: bool) -> int:
    """Print how many points of a sweep file, or of a family of runs, are done, failed and left."""
    points, _ = _points(Wanted(place, "", "", (), False), store, None)
    counts = Counter(outcome.status if outcome else "left" for _, outcome in points)
    done = sum(counts[status] for status in ("finished", "diverged"))
    seconds = sum(outcome.seconds for _, outcome in points if outcome and outcome.has_ended)
    left = len(points) - done
    facts = {"points": len(points), **{name: counts[name] for name in (*_STATUSES, "left")}}
    facts |= {"seconds": seconds, "core_seconds_left": seconds / done * left if done else None}
    if json:
        screen.print_json(facts)
        return exits.DIFFERS if counts["failed"] else exits.OK
    screen.print_table(("points", f"of {len(points):,}"), [(name, counts[name]) for name in (*_STATUSES, "left")])
    if left and done:
        screen.say(f"about {screen.duration(seconds / done * left)} of training left, from the points that ended")
    if counts["failed"]:
        screen.say("run the sweep again to train the failed points again")
    return exits.DIFFERS if counts["failed"] else exits.OK


_STATUSES = ("finished", "diverged", "failed", "interrupted")


def _facts(family: Any) -> dict[str, Any]:
    ended = [run for run in family.runs if run.has_ended]
    return {
        "id": family.id,
        "shared": family.title,
        "varies": family.varying,
        "seeds": family.seeds,
        "runs": len(family.runs),
        "ended": len(ended),
        "generalised": sum(run.generalised for run in ended),
    }


def _points(wanted: Wanted, store: Path, data: Path | None) -> tuple[list[Any], str]:
    """Return the points of a sweep and its title."""
    from firstlight.cli.commands._options import existing_store
    from firstlight.records import Store
    from firstlight.records._store import locate
    from firstlight.sweeps import family_of, load_sweep, points_of_family, points_of_folder, points_of_sweep

    place = Path(wanted.place)
    if wanted.place and place.is_dir():
        return points_of_folder(place), ""
    if place.suffix.lower() in (".toml", ".json"):
        sweep = load_sweep(place, wanted.overrides)
        if not locate(store).exists():
            return points_of_sweep(sweep, None, data), sweep.name
        with Store(store) as opened:
            return points_of_sweep(sweep, opened, data), sweep.name
    with Store(existing_store(store)) as opened:
        return points_of_family(family_of(opened, wanted.place)), ""


def _axes(points: list[Any], wanted: Wanted, fixed: dict[str, str]) -> tuple[str, str]:
    from firstlight.sweeps._atlas import axis_fields, choose_axes, field_of

    held = {field_of(name) for name in fixed}
    return choose_axes([field for field in axis_fields(points) if field not in held], wanted.x, wanted.y)


def _require_fields(specs: list[Any], names: list[str]) -> None:
    """Refuse a name that is neither a short name of an axis nor a field of any spec."""
    from firstlight._suggest import did_you_mean
    from firstlight.cli.commands._select import leaves
    from firstlight.sweeps import AXES
    from firstlight.sweeps._atlas import field_of, value_of

    known = dict.fromkeys([*AXES, *(field for spec in specs for field, _ in leaves(spec.model_dump()))])
    for name in filter(None, names):
        if name not in known and all(value_of(spec, field_of(name)) is None for spec in specs):
            raise exits.UserError(
                f"the runs of this sweep have no field {name!r}; {did_you_mean(name, known)}"
                f"give {', '.join(AXES)} or a dotted name such as optimizer.name"
            )


def _condition(text: str) -> tuple[str, str]:
    field, equals, value = text.partition("=")
    if not equals or not field.strip():
        raise exits.UserError(f"--where: write it as FIELD=VALUE, such as width=64; got {text!r}")
    return field.strip(), value.strip()


def require_suffix(out: Path, option: str = "--out") -> None:
    """Refuse a file whose ending names no kind of figure or page."""
    if out.suffix.lower() not in (".svg", ".png", ".pdf", ".html"):
        raise exits.UserError(f"{option}: the file ends in .svg, .png, .pdf or .html; got {out.name!r}")
