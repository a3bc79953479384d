// Room 1: a setting, its forecast, the run over the forecast, and the scoreboard.

import { $, all, element, keepInAddress, newest, post, read, Stream } from "/static/lab.js";
import { loadChart, number } from "/static/charts.js";
import { ACTIVE, control, listed, showJobs, waiting } from "/static/jobs.js";
import { problemsOf, Question, showProblem, showProblems } from "/static/setting.js";

const form = $("#setting");
const charts = {};
const state = { setting: null, shown: "", job: null, status: null, rows: 0, points: 0, late: null, result: "", failure: "", jobs: [], ended: "", named: "Z23" };
const CURVES = ["accuracy", "loss", "features"];
const ENDED = ["finished", "diverged", "failed"];
const MOST_POINTS = 3000;
const STAGES = {
  lazy: ["I", "Stage I, lazy: the last layer memorises with random features."],
  independent: ["II", "Stage II, independent: each hidden unit learns a feature of its own."],
  interactive: ["III", "Stage III, interactive: hidden units share the work, and the network generalises."],
  stalled: ["stalled", "Stalled: the gradient has vanished, and no feature grows any more."],
};

function values() {
  const entries = {};
  for (const control of form.elements) { if (control.name) { entries[control.name] = control.value.trim(); } }
  if (!entries.table) { delete entries.table; }
  return entries;
}

function query() { return new URLSearchParams(values()).toString(); }

// ---- the setting and its forecast

const question = new Question({ path: "/api/setting", query, answered, line: $("#forecast-state") });

function changed() {
  keepInAddress(query());
  question.changed();
}

function answered(answer) {
  $("#train").disabled = !answer.ok;
  state.setting = answer.ok ? answer : null;
  if (!answer.ok) { return 0; }
  showForecast(answer);
  showRun(answer);
  return answer.forecast.computing ? 1000 : 0;
}

const ENDS = {
  grokking: "Expect grokking",
  memorising: "Expect the network to memorise and not to generalise: too few pairs are shown",
  stalling: "Expect the network to memorise, then to stall",
  nothing: "Expect no learning: not even the training pairs will be memorised",
};

function plainStory(answer) {
  const forecast = answer.forecast;
  const share = forecast.samples / forecast.boundary[1];
  return `${ENDS[forecast.outcome]}. ${forecast.samples} of ${answer.pairs[1]} pairs are shown, ${share.toFixed(1)} times the number at the boundary, where half of all networks grok (${Math.round(forecast.boundary[0])} to ${Math.round(forecast.boundary[2])} pairs).${forecast.outside.length ? ` Less certain than usual, outside the measured range: ${forecast.outside.join(", ")}.` : ""}`;
}

// Irreps with the same pull share a row.
function alike(irreps) {
  const groups = new Map();
  for (const [label, energy] of irreps) {
    const key = energy.toPrecision(6);
    groups.set(key, [...(groups.get(key) ?? []), label]);
  }
  return Array.from(groups, ([key, labels]) => [labels, Number(key)]);
}

function range(three) {
  if (!three) { return "–"; }
  const round = (value) => (value < 10 ? value.toFixed(1) : Math.round(value));
  return `${round(three[0])} – ${round(three[2])}`;
}

// Nothing that is forecast is certain.
function odds(chance) {
  if (chance > 0.995) { return "over 99\u00a0%"; }
  return chance < 0.005 ? "under 1\u00a0%" : `${Math.round(100 * chance)}\u00a0%`;
}

function showForecast(answer) {
  const forecast = answer.forecast;
  if (forecast.computing) { $("#forecast-state").textContent = "computing the boundary of this group, once …"; }
  const covered = forecast.covered && !forecast.computing;
  if (!forecast.computing) { $("#forecast-state").textContent = forecast.covered ? "made from the setting alone, before training" : "not covered"; }
  $("#chance").textContent = covered && forecast.chance !== null ? odds(forecast.chance) : "–";
  $("#when-memorise").textContent = range(forecast.memorise);
  $("#when-generalise").textContent = range(forecast.generalise);
  $("#needed").textContent = covered ? `${(forecast.boundary[1] / answer.order ** 2).toFixed(2)}` : "–";
  $("#forecast-detail").textContent = covered ? forecast.story : "";
  $("#forecast-story").textContent = covered ? plainStory(answer) : forecast.computing ? "The boundary of this group is computed once and then remembered. You can train already." : `No forecast for this setting: ${forecast.reason}. The run can be trained and is measured all the same.`;
  const body = $("#irreps tbody");
  body.replaceChildren();
  for (const [labels, energy] of alike(forecast.irreps ?? [])) {
    const row = element("tr");
    const shown = labels.length > 7 ? `${labels.slice(0, 3).join(", ")}, …, ${labels.at(-1)} (${labels.length} of them)` : labels.join(", ");
    row.append(element("th", shown, { scope: "row" }), element("td", number(energy)));
    body.append(row);
  }
  $("#cost").textContent = `${answer.pairs[0]} of ${answer.pairs[1]} pairs are shown. About ${Math.max(1, Math.round(answer.seconds))} s on this machine.`;
  if (forecast.curve) {
    charts.boundary.put("curve", forecast.curve);
    charts.boundary.put("point", { order: [forecast.point[0]], fraction: [forecast.point[1]] });
  }
  for (const name of ["accuracy", "loss", "features"]) {
    const when = forecast.generalise ?? null;
    charts[name].band("forecast", when ? when[0] : null, when ? when[2] : null);
    const first = name === "accuracy" ? forecast.memorise ?? null : null;
    charts[name].band("forecast-memorise", first ? first[0] : null, first ? first[2] : null);
    charts[name].span("forecast-middle", when ? when[1] : null);
  }
}

// ---- the run of the setting

async function showRun(answer) {
  if (answer.id === state.shown) { return; }
  // The run that was on the page stays as a dotted line under the next one.
  if (state.shown && state.status && charts.accuracy.columns.step?.length > 1) {
    for (const name of CURVES) { charts[name].put("before", charts[name].columns); }
    $("#overlay-note").textContent = `Dotted: the run before, ${state.title}.`;
  }
  Object.assign(state, { shown: answer.id, title: answer.title, status: answer.status, rows: 0, points: 0, late: null, result: "" });
  for (const name of CURVES) { charts[name].put("now", { step: [] }); }
  showStages([]);
  $("#scoreboard").replaceChildren(element("p", "When the run ends, each theory's prediction stands here beside the measurement."));
  $("#export").hidden = true;
  showJob(answer.job, answer.status);
  if (answer.status) { await loadCurve(answer.id); }
  if (answer.id !== state.shown) { return; } // another setting was chosen meanwhile
  stream.show(answer.id, state.rows);
  if (ENDED.includes(answer.status)) { await showResult(answer.id, answer.status); }
}

const newestCurve = newest();

// Load the whole curve, thinned. Rows that the stream brings meanwhile wait, and follow it.
async function loadCurve(id) {
  state.late = [];
  const answer = await newestCurve(read(`/api/runs/${id}/rows`));
  if (!answer || id !== state.shown) { return; }
  const late = state.late;
  state.late = null;
  if (answer.ok && answer.columns.step) {
    for (const name of CURVES) { charts[name].put("now", answer.columns); }
    state.rows = answer.total;
    state.points = answer.columns.step.length;
  }
  late.forEach(append);
}

function onRows(message) {
  if (message.run !== state.shown) { return; }
  if (state.late) { state.late.push(message); } else { append(message); }
}

function append(message) {
  const columns = after(charts.accuracy.columns.step?.at(-1) ?? -1, message.columns);
  if (columns.step.length) { for (const name of CURVES) { charts[name].append("now", columns); } }
  state.points += columns.step.length;
  state.rows = Math.max(state.rows, message.total);
  document.body.dataset.rows = String(state.rows);
  $("#run-empty").hidden = true;
  if (state.points > MOST_POINTS) { state.points = 0; loadCurve(state.shown); }
}

// Leave out the rows up to a step: a curve that was loaded meanwhile has them.
function after(step, columns) {
  const first = columns.step.findIndex((own) => own > step);
  return first === 0 ? columns : Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, first < 0 ? [] : values.slice(first)]));
}

async function onStatus(message) {
  if (message.run !== state.shown) { return; }
  state.status = message.status;
  if (ENDED.includes(message.status)) { await showResult(message.run, message.status); }
}

function onJobs(jobs) {
  state.jobs = jobs;
  const own = jobs.find((job) => job.id === state.shown) ?? null;
  showJob(own, state.status);
  if (own?.notes?.stages && state.status !== "finished") { showStages(own.notes.stages); }
  const failure = own?.state === "failed" ? own.message : "";
  if (failure || state.failure) { showProblem("", failure); }
  state.failure = failure;
  // A short run ends before the page hears that it began: compare what has ended, not how one job changed.
  const ended = jobs.filter((job) => job.kind === "run" && !ACTIVE.includes(job.state)).map((job) => `${job.id} ${job.turn} ${job.state}`).join();
  if (ended !== state.ended) { state.ended = ended; showEarlier(); }
  showJobs($("#jobs"), listed(jobs, (job) => job.kind === "run" && !["finished", "diverged"].includes(job.state)));
}

function showJob(job, status) {
  state.job = job;
  const current = job && !(status === "finished" || status === "diverged") ? job.state : ({ interrupted: "stopped" }[status] ?? status ?? "not run");
  const badge = $("#run-state");
  badge.textContent = current;
  badge.className = `badge ${current.replace(" ", "-")}`;
  $("#run-empty").hidden = current !== "not run";
  $("#train").hidden = ["running", "paused", "queued"].includes(current);
  $("#train").textContent = current === "stopped" ? "Resume" : "Train";
  $("#pause").hidden = current !== "running";
  $("#resume").hidden = current !== "paused";
  $("#stop").hidden = !["running", "paused", "queued"].includes(current);
  const bar = $("#bar");
  bar.hidden = !job || !["running", "paused", "queued"].includes(current);
  if (job) {
    $("#progress").value = job.total ? job.done / job.total : 0;
    $("#progress-text").textContent = current === "queued" ? waiting(job, state.jobs) : `epoch ${Math.round(job.done)} of ${Math.round(job.total || 0)}${job.message ? `, ${job.message}` : ""}`;
  }
}

function showStages(stages) {
  for (const name of ["accuracy", "loss"]) {
    for (let place = 0; place < 4; place += 1) {
      const stage = stages[place];
      charts[name].band(`stage-${place}`, stage ? stage[1] : null, stage ? stage[2] : null);
      const label = charts[name].model(`stage-label-${place}`);
      label.visible = Boolean(stage);
      if (stage) { label.text = STAGES[stage[0]]?.[0] ?? stage[0]; label.x = stage[1]; }
    }
  }
  const list = $("#stages");
  list.replaceChildren(...(stages.length
    ? stages.map(([name, from, to]) => element("li", `${STAGES[name]?.[1] ?? name} Epochs ${from} to ${to}.`))
    : [element("li", "They are marked in the curves as soon as they are detected.")]));
}

// Each reconnection of the stream repeats the status: a result that is on the page already is not drawn again.
async function showResult(id, status) {
  if (state.result === `${id} ${status}`) { return; }
  state.result = `${id} ${status}`;
  const answer = await read(`/api/runs/${id}/result`);
  if (id !== state.shown) { return; }
  if (!answer.ok) { state.result = ""; return; }
  // The server escapes every value; this is markup of its own templates.
  $("#scoreboard").innerHTML = answer.html;
  document.body.dataset.result = id;
  showStages(answer.stages);
  state.status = answer.status;
  showJob(state.job, answer.status);
  const link = $("#export");
  link.hidden = false;
  link.href = `/api/runs/${id}/export`;
  if (answer.rows !== state.rows) { await loadCurve(id); }
}

// ---- the list of runs

const newestList = newest();

async function showEarlier() {
  const answer = await newestList(read("/api/runs"));
  const shown = JSON.stringify(answer?.runs ?? []);
  if (!answer?.runs?.length || shown === $("#earlier").dataset.shown) { return; }
  $("#earlier").dataset.shown = shown;
  $("#earlier").replaceChildren(...answer.runs.map((run) => {
    const line = element("li");
    line.append(element("span", `${run.title}. ${run.story}`), element("span", run.status, { class: `badge ${run.status}` }),
      element("a", "Export", { href: `/api/runs/${run.id}/export`, "aria-label": `Export ${run.title}` }));
    return line;
  }));
}

// ---- actions

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  showProblems({});
  state.result = ""; // a run that failed is trained again, and may end in the same way
  const answer = await post("/api/runs", { form: values() });
  if (!answer.ok) { showProblems(problemsOf(answer)); return; }
  document.body.dataset.started = answer.id;
  if (answer.body.state === "finished") { showProblems({ "": "This run is already in the store. Change a knob, such as the seed, for another." }); }
  stream.show(state.shown, state.rows);
});
form.addEventListener("input", (event) => {
  const twin = event.target.dataset?.for;
  if (twin) { form.elements[twin].value = event.target.value; }
  if (event.target.name === "fraction") { const slider = $(".slider[data-for=fraction]"); if (slider) { slider.value = event.target.value; } }
  if (event.target.id === "table-text" || event.target.id === "table-file") { return; }
  changed();
});
for (const action of ["pause", "resume", "stop"]) {
  $(`#${action}`).addEventListener("click", () => control(state.shown, action));
}
$("#table-file").addEventListener("change", async (event) => {
  const file = event.target.files[0];
  if (!file) { return; }
  if (file.size > 2_000_000) { showProblems({ table: "the file is larger than 2 MB" }); return; }
  $("#table-text").value = await file.text();
});
$("#use-table").addEventListener("click", async () => {
  const answer = await post("/api/tables", { name: $("#table-file").files[0]?.name.replace(/\.\w+$/, "") ?? "my table", text: $("#table-text").value });
  if (!answer.ok) { showProblems(problemsOf(answer, "table")); return; }
  showProblems({});
  if (!form.elements.table.value) { state.named = form.elements.group.value; }
  form.elements.table.value = answer.table;
  form.elements.group.value = answer.group;
  $("#table-state").textContent = `A table of your own with ${answer.order} elements is in use.`;
  changed();
});
$("#drop-table").addEventListener("click", () => {
  form.elements.table.value = "";
  form.elements.group.value = state.named;
  $("#table-state").textContent = "";
  changed();
});
for (const button of all(".copy-as")) {
  button.addEventListener("click", async () => {
    if (!state.setting) { $("#copied").textContent = "Nothing is copied: mend the setting first."; return; }
    const text = state.setting.copies[button.dataset.as];
    $("#copy-text").textContent = text;
    try { await navigator.clipboard.writeText(text); $("#copied").textContent = "Copied."; }
    catch { $("#copied").textContent = "Select the text below to copy it."; $("#copy-text").closest("details").open = true; }
  });
}

const stream = new Stream({ rows: onRows, status: onStatus, jobs: onJobs });
for (const target of all("[data-chart]")) { charts[target.dataset.chart] = await loadChart(target); }
// Linked ranges: the curves of a run share their epochs.
document.body.dataset.ready = "yes";
await question.ask();
showEarlier();
