// Room 2: choose a run, and show its features on the stage.

import { $, element, read, refusal } from "/static/lab.js";
import { Stage } from "/static/stage.js";

const select = $("#run");
const stage = new Stage($("#stage"), remember);
const state = { runs: [], id: "", sequence: 0, waiting: null };

// The address holds run, step, units and irrep; a film would rewrite it too often for the browser's liking.
function remember() {
  clearTimeout(state.waiting);
  state.waiting = setTimeout(() => {
    const query = new URLSearchParams({ run: state.id, ...stage.view() });
    history.replaceState(null, "", `?${query}`);
    query.delete("run");
    $("#export").href = `/api/theatre/${state.id}/export?${query}`;
  }, 250);
}

async function show(id, view = {}) {
  const sequence = ++state.sequence;
  state.id = id;
  select.value = id;
  $("#problem").hidden = true;
  $("#run-story").textContent = "reading its weights …";
  const answer = await read(`/api/theatre/${encodeURIComponent(id)}`);
  if (sequence !== state.sequence) { return; }
  if (!answer.ok) { answer.problem = refusal(answer); }
  $("#run-story").textContent = state.runs.find((run) => run.id === id)?.story ?? "";
  if (answer.problem) {
    $("#problem").textContent = answer.problem;
    $("#problem").hidden = false;
    $("#stage").hidden = true;
    $("#export").hidden = true;
    return;
  }
  $("#export").hidden = false;
  stage.show(answer, view);
  remember();
}

async function start() {
  const listing = await read("/api/theatre");
  if (!listing.ok) { $("#problem").textContent = listing.error; $("#problem").hidden = false; $("#choose").hidden = false; return; }
  state.runs = listing.runs;
  $("#empty").hidden = listing.runs.length > 0;
  $("#choose").hidden = listing.runs.length === 0;
  if (!listing.runs.length) {
    if (listing.without) { $("#empty-words").prepend(element("span", `${listing.without} run${listing.without === 1 ? " has" : "s have"} not ended yet. `)); }
    document.body.dataset.ready = "yes";
    return;
  }
  select.replaceChildren(...listing.runs.map((run) => element("option", `${run.title}${run.snapshots ? "" : " (end only)"}`, { value: run.id })));
  const query = Object.fromEntries(new URLSearchParams(location.search));
  const asked = listing.runs.some((run) => run.id === query.run);
  const first = asked ? query.run : (listing.runs.find((run) => run.snapshots) ?? listing.runs[0]).id;
  document.body.dataset.ready = "yes";
  await show(first, asked ? query : {});
}

select.addEventListener("change", () => show(select.value));
await start();
