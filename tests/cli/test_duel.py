"""`firstlight duel`: a table on the screen, a page, and clear refusals."""


def test_the_command_prints_a_table_and_writes_the_page(cli, folder):
    (folder / "spec.toml").write_text('steps = 20\n[task]\ngroup = "Z5"\n[model]\nwidth = 8\n')
    done = cli("duel", "spec.toml", "--optimizers", "adam,sgd", "--rates", "1", "--seeds", "1", "--out", "d.html")
    assert done.code == 0, done.err
    assert "Adam" in done.out
    assert (folder / "d.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    refused = cli("duel", "spec.toml", "--widths", "3")
    assert refused.code == 2
    assert "two whole numbers low,high" in refused.err
