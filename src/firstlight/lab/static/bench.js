// Room 6: a table, its target, the methods on the same folds; saved probes layer by layer.

import { $, ask, element, keepInAddress, newest, post, read, refusal, Stream } from "/static/lab.js";
import { ACTIVE, control, listed, showJobs, waiting } from "/static/jobs.js";
import { problemsOf, showProblem, showProblems } from "/static/setting.js";

const form = $("#setting");
const state = { jobs: [], job: form.dataset.job, turn: "", shown: form.dataset.fit, probe: form.dataset.probe, opening: null, files: [], sequence: 0, wanted: form.dataset.target };

function values() {
  const entries = {};
  for (const control of form.elements) { if (control.name) { entries[control.name] = control.value.trim(); } }
  return entries;
}

function address() {
  const entries = Object.entries({ ...values(), fit: state.shown, probe: state.probe, job: state.job }).filter(([, value]) => value);
  keepInAddress(new URLSearchParams(entries).toString());
}

// ---- files and columns

function size(bytes) { return bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1000))} kB` : `${(bytes / 1e6).toFixed(1)} MB`; }

async function showFiles() {
  const answer = await read("/api/bench/files");
  if (!answer.ok) { showProblems({ file: answer.error }); return; }
  state.files = answer.files;
  const select = form.elements.file;
  const before = select.value || form.dataset.file;
  const tables = answer.files.filter((file) => file.kind === "table");
  select.replaceChildren(element("option", tables.length ? "choose a file" : "no table in the folder", { value: "" }),
    ...tables.map((file) => element("option", `${file.name} (${size(file.size)}${file.size > answer.largest ? ", too large" : ""})`, { value: file.id })));
  if (before && !tables.some((file) => file.id === before)) { select.append(element("option", "a file that is not in the folder any more", { value: before })); }
  select.value = before ?? "";
  showProbeFiles();
  document.body.dataset.files = String(answer.files.length);
}

async function showColumns() {
  const sequence = ++state.sequence;
  const file = form.elements.file.value;
  const select = form.elements.target;
  const before = state.wanted || select.value;
  $("#fit").disabled = true;
  $("#columns-note").textContent = "";
  delete document.body.dataset.columns;
  if (!file) { showProblems({}); select.replaceChildren(element("option", "choose a column", { value: "" })); return; }
  $("#columns-note").textContent = "reading the columns …";
  const answer = await read(`/api/bench/columns?file=${encodeURIComponent(file)}`);
  if (sequence !== state.sequence) { return; }
  showProblems(answer.ok ? {} : problemsOf(answer, "file"));
  if (!answer.ok) { $("#columns-note").textContent = ""; return; }
  select.replaceChildren(element("option", "choose a column", { value: "" }), ...answer.columns.map((column) => {
    const option = element("option", `${column.name} (${column.kind}${column.reason ? `: ${column.reason}` : `, ${column.distinct} different`})`, { value: column.name });
    option.disabled = Boolean(column.reason);
    return option;
  }));
  if (answer.columns.some((column) => column.name === before)) { select.value = before; }
  state.wanted = "";
  const gaps = answer.columns.filter((column) => column.missing).length;
  $("#columns-note").textContent = `${answer.rows} rows, ${answer.columns.length} columns${gaps ? `, ${gaps} of them with gaps` : ""}.`;
  $("#fit").disabled = false;
  document.body.dataset.columns = file;
  address();
}

function showProbeFiles() {
  const probes = state.files.filter((file) => file.kind === "probe");
  $("#probe-files").replaceChildren(...probes.map((file) => {
    const item = element("li");
    const button = element("button", "Open", { type: "button", "aria-label": `Open the probe ${file.name}` });
    button.addEventListener("click", async () => {
      showProblem("probe", "");
      const answer = await post("/api/bench/probe", { file: file.id });
      if (!answer.ok) { showProblem("probe", answer.problems?.file ?? answer.error); return; }
      state.opening = answer.body;
      onJobs(state.jobs);
    });
    item.append(element("span", `${file.name} (${size(file.size)})`), button);
    return item;
  }));
}

// ---- the comparison

// A job that is done again keeps its id and has another turn: its earlier end is not the one that is waited for.
function onJobs(jobs) {
  state.jobs = jobs;
  const own = jobs.find((job) => job.id === state.job && (!state.turn || job.turn === state.turn)) ?? null;
  if (!own && !state.turn) { state.job = ""; } // it was removed
  if (own) { state.turn = ""; }
  if (own || !state.job) { showJob(own); }
  if (own?.state === "failed") { showProblem("", own.message); state.job = ""; }
  if (own?.state === "finished" && own.notes.fit) { state.job = ""; showFit(own.notes.fit); }
  const opened = jobs.find((job) => job.id === state.opening?.id && job.turn === state.opening.turn);
  if (opened?.state === "failed") { state.opening = null; showProblem("probe", opened.message); }
  if (opened?.state === "finished" && opened.notes.probe) { state.opening = null; showProbe(opened.notes.probe); }
  showJobs($("#queue"), listed(jobs, (job) => job.kind === "fit" && (ACTIVE.includes(job.state) || job.state === "failed")),
    () => ({ actions: ["stop", "remove"], isTold: false }));
}

function showJob(job) {
  const current = job ? job.state : state.shown ? "finished" : "not run";
  const badge = $("#fit-state");
  badge.textContent = current;
  badge.className = `badge ${current.replace(" ", "-")}`;
  $("#fit").hidden = ACTIVE.includes(current);
  $("#stop").hidden = !ACTIVE.includes(current);
  $("#bar").hidden = !ACTIVE.includes(current);
  $("#stop-hint").hidden = ![...ACTIVE, "stopped"].includes(current);
  if (job) {
    $("#progress").value = job.done;
    $("#progress-text").textContent = current === "queued" ? waiting(job, state.jobs) : `${Math.round(100 * job.done)} % ${job.message}`;
  }
}

// Return a function that shows a part of the page by its address, unless a newer one was asked for meanwhile.
function part(target, link) {
  const newestPart = newest();
  return async (path) => {
    const answer = await newestPart(ask(path));
    if (!answer) { return false; }
    if (!answer.ok) { $(target).replaceChildren(element("p", refusal(answer), { class: "problem" })); return false; }
    // The server escapes every value; this is markup of its own templates.
    $(target).innerHTML = answer.text;
    $(link).hidden = false;
    $(link).href = `${path}/export`;
    return true;
  };
}

const fitPart = part("#result", "#export-fit");
const probePart = part("#probe", "#export-probe");

async function showFit(id) {
  if (!await fitPart(`/api/bench/fits/${encodeURIComponent(id)}`)) { return; }
  state.shown = id;
  address();
  if (!state.job) { showJob(null); }
  document.body.dataset.fit = id;
  showRecords();
}

async function showProbe(id) {
  if (!await probePart(`/api/bench/probes/${encodeURIComponent(id)}`)) { return; }
  state.probe = id;
  address();
  document.body.dataset.probe = id;
  showRecords();
}

// ---- lists

function list(target, rows, name, show) {
  if (!rows.length) { return; }
  $(target).replaceChildren(...rows.map((row) => {
    const item = element("li");
    const words = element("span");
    const link = element("a", row.title, { href: `/bench?${name}=${row.id}` });
    link.addEventListener("click", (event) => { if (!event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); show(row.id); } });
    words.append(link, element("span", ` ${row.words}`, { class: "hint" }));
    item.append(words, element("a", "Export", { href: `/api/bench/${name}s/${row.id}/export`, "aria-label": `Export ${row.title} ${row.id.slice(0, 6)}` }));
    return item;
  }));
}

const newestRecords = newest();

async function showRecords() {
  const answer = await newestRecords(read("/api/bench/records"));
  if (!answer?.ok) { return; }
  list("#fits", answer.fits, "fit", showFit);
  list("#probes", answer.probes, "probe", showProbe);
}

// ---- actions

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  showProblems({});
  const answer = await post("/api/bench", values());
  if (!answer.ok) { showProblems(problemsOf(answer)); return; }
  Object.assign(state, { job: answer.id, turn: answer.turn });
  address();
  showJob(answer.body);
  onJobs(state.jobs);
});
form.addEventListener("input", (event) => {
  address();
  if (event.target.name === "file") { showColumns(); }
});
$("#stop").addEventListener("click", () => control(state.job, "stop"));
$("#refresh").addEventListener("click", async () => { await showFiles(); await showColumns(); });

const stream = new Stream({ jobs: onJobs });
await showFiles();
if (state.shown) { await showFit(state.shown); }
if (state.probe) { await showProbe(state.probe); }
document.body.dataset.ready = "yes";
await showColumns();
stream.show("");
showRecords();
