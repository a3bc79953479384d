"""`firstlight doctor`: what is installed, how fast the machine is, what is missing and how to get it."""

from typing import Annotated

from cyclopts import Parameter

from firstlight.cli import _exits as exits
from firstlight.cli._terminal import screen
from firstlight.cli.commands._options import JsonOption


def doctor(
    *,
    json: JsonOption = False,
    measure: Annotated[bool, Parameter(help="Measure how fast the machine is, which takes about two seconds.")] = True,
) -> int:
    """Show versions, cores, measured speed, and which extras are missing and how to get them."""
    from firstlight.claims import EXTRAS, extra_is_installed, install_command
    from firstlight.records import machine_facts, software_versions

    facts = {
        "versions": software_versions(),
        "machine": machine_facts(),
        "devices": _devices() if measure else [],
        "rates": _rates() if measure else {},
        "extras": {extra: extra_is_installed(extra) for extra in EXTRAS},
        "missing": {extra: install_command(extra) for extra in EXTRAS if not extra_is_installed(extra)},
    }
    if json:
        screen.print_json(facts)
    else:
        _show(facts)
    return exits.OK


def _devices() -> list[str]:
    import jax

    return [f"{device.platform}:{device.id} ({device.device_kind})" for device in jax.devices()]


def _rates() -> dict[str, float]:
    from firstlight.cli.commands._measure import rates

    with screen.err().status("measuring"):
        return rates()


def _show(facts: dict) -> None:
    machine = facts["machine"]
    memory = f"{machine['memory_bytes'] / 2**30:.1f} GiB" if machine["memory_bytes"] else "unknown"
    rows = [("system", machine["system"]), ("processor", machine["processor"])]
    rows += [("cores", str(machine["cores"])), ("memory", memory)]
    rows += [("device", device) for device in facts["devices"]]
    rows += [(name, f"{value:.1f}") for name, value in facts["rates"].items()]
    screen.print_table(("machine", ""), rows)
    print()
    screen.print_table(("version", ""), facts["versions"].items())
    print()
    extras = [(name, "installed" if there else facts["missing"][name]) for name, there in facts["extras"].items()]
    screen.print_table(("extra", ""), extras)
