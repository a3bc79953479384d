// Room 5: filters of the table, and a check that is run again.

import { $, all, ask, keepInAddress, post, Stream } from "/static/lab.js";
import { ACTIVE, control, waiting } from "/static/jobs.js";
import { showProblem } from "/static/setting.js";

const form = $("#filters");
if (form) {
  const rows = all("table.claims tbody tr");
  const apply = () => {
    const words = form.elements.text.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      const fits = (!form.elements.paper.value || row.dataset.paper === form.elements.paper.value)
        && (!form.elements.status.value || row.dataset.status === form.elements.status.value)
        && words.split(/\s+/).every((word) => row.dataset.text.includes(word));
      row.hidden = !fits;
      shown += fits;
    }
    $("#count").textContent = `${shown} of ${rows.length}`;
    $("#none").hidden = shown > 0;
    for (const tile of all("button.tile")) { tile.setAttribute("aria-pressed", String(tile.dataset.status === form.elements.status.value)); }
    keepInAddress(new URLSearchParams(Array.from(new FormData(form)).filter(([, value]) => value)).toString());
  };
  for (const [name, value] of new URLSearchParams(location.search)) { if (form.elements[name]) { form.elements[name].value = value; } }
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  $("#reset").addEventListener("click", () => { form.reset(); apply(); });
  for (const tile of all("button.tile")) {
    tile.addEventListener("click", () => {
      form.elements.status.value = form.elements.status.value === tile.dataset.status ? "" : tile.dataset.status;
      apply();
    });
  }
  apply();
}

const button = $("#rerun");
if (button) {
  const claim = button.dataset.claim;
  const id = `claim:${claim}`;
  let asked = null, wanted = null, drawn = null, failure = "", latest = null;
  // A short check ends before the page hears that it began: compare turns, not states.
  const draw = async (job) => {
    if (job.turn !== wanted) {
      wanted = job.turn;
      const answer = await ask(`/api/court/${claim}/own`);
      if (job.turn !== wanted) { return; } // it was checked again meanwhile
      if (!answer.ok) { wanted = drawn; return; }
      // The server escapes every value; this is markup of its own templates.
      $("#own").innerHTML = answer.text;
      drawn = job.turn;
    }
    if (drawn === asked) { document.body.dataset.checked = claim; }
  };
  const show = (job, jobs) => {
    const active = job && ACTIVE.includes(job.state);
    button.disabled = Boolean(active);
    $("#rerun-stop").hidden = !active;
    $("#bar").hidden = !active;
    if (active) {
      $("#progress").value = job.done;
      $("#progress-text").textContent = job.state === "queued" ? waiting(job, jobs) : `${Math.round(100 * job.done)} % ${job.message}`;
    }
    const now = job?.state === "failed" ? `The check could not be run: ${job.message}` : "";
    if (now || failure) { showProblem("", now); }
    failure = now;
    latest = job;
    if (job?.state === "finished") { draw(job); }
  };
  const stream = new Stream({ jobs: (jobs) => show(jobs.find((job) => job.id === id), jobs) });
  stream.show("");
  button.addEventListener("click", async () => {
    const answer = await post("/api/court", { claim });
    showProblem("", answer.ok ? "" : answer.error);
    if (!answer.ok) { return; }
    asked = answer.turn;
    if (latest?.state === "finished") { draw(latest); }
  });
  $("#rerun-stop").addEventListener("click", () => control(id, "stop"));
}
document.body.dataset.ready = "yes";
