// Room 3: a case, its predicted staircase, gradient flow over it, and the jumps side by side.

import { $, all, element, keepInAddress, newest, post, read, Stream } from "/static/lab.js";
import { loadChart, number as digits } from "/static/charts.js";
import { ACTIVE, control, listed, showJobs, waiting } from "/static/jobs.js";
import { problemsOf, Question, showProblems as showAll } from "/static/setting.js";

const form = $("#setting");
const state = { answer: null, shown: "", job: null, jobs: [], curve: null, alpha: "", others: [], family: "", started: new Set(), reading: "" };
const still = matchMedia("(prefers-reduced-motion: reduce)");
const OTHERS = 3;
let chart;

const chosen = () => form.elements.case.selectedOptions[0];
const defaults = () => JSON.parse(chosen().dataset.defaults);
const limits = () => JSON.parse(chosen().dataset.alphas);

// Small numbers as powers of ten, so that they fit a tile.
const number = (value) => (value !== 0 && Math.abs(value) < 1e-3 ? Number(value).toExponential(1) : digits(value));

// ---- the form

function values() {
  const entries = { case: form.elements.case.value };
  for (const name of Object.keys(defaults())) { entries[name] = form.elements[name].value.trim(); }
  return entries;
}

function query() { return new URLSearchParams(values()).toString(); }

// Only the controls of the case are shown.
function showControls() {
  const names = Object.keys(defaults());
  for (const knob of all(".knob[data-name]")) { knob.hidden = !names.includes(knob.dataset.name); }
  $("#h-case").textContent = chosen().dataset.what;
  const slider = $("#alpha-slider");
  const [least, most] = limits();
  slider.min = Math.max(-12, Math.log10(least)).toFixed(1);
  slider.max = Math.log10(most).toFixed(1);
  showSlider();
  showTemplate();
}

function showSlider() {
  const slider = $("#alpha-slider");
  const exponent = Math.log10(Number(form.elements.alpha.value));
  if (Number.isFinite(exponent)) { slider.value = exponent; }
  slider.setAttribute("aria-valuetext", `α = ${form.elements.alpha.value}`);
}

// ---- the template: one native slider for each number; a pointer that is drawn across sets them all

const template = () => form.elements.template.value.split(/[\s,;]+/).filter(Boolean).map(Number);

function setTemplate(numbers) {
  form.elements.template.value = numbers.map((value) => Number(value.toFixed(2))).join(", ");
  showTemplate();
  changed();
}

function showTemplate() {
  const numbers = template();
  if (numbers.some((value) => !Number.isFinite(value)) || numbers.length > 24) { return; }
  const top = Math.max(2, ...numbers.map(Math.abs));
  const box = $("#draw");
  if (box.children.length !== numbers.length) {
    box.replaceChildren(...numbers.map((_, place) => {
      const slider = element("input", "", { type: "range", step: "0.05", "aria-label": `Number ${place + 1} of the template` });
      slider.addEventListener("input", () => {
        const now = template();
        now[place] = Number(slider.value);
        form.elements.template.value = now.join(", ");
      });
      return slider;
    }));
  }
  numbers.forEach((value, place) => { const slider = box.children[place]; slider.min = -top; slider.max = top; slider.value = value; });
}

function draw(event) {
  if (!(event.buttons & 1)) { return; }
  const box = $("#draw");
  const frame = box.getBoundingClientRect();
  const numbers = template();
  const place = Math.floor((event.clientX - frame.left) / frame.width * numbers.length);
  if (place < 0 || place >= numbers.length) { return; }
  event.preventDefault();
  const top = Number(box.children[place].max);
  const share = 1 - 2 * Math.min(1, Math.max(0, (event.clientY - frame.top) / frame.height));
  numbers[place] = Math.round(share * top * 20) / 20;
  setTemplate(numbers);
}

// ---- the prediction

const stands = { data: $("#f-data") };
const showProblems = (problems) => showAll(problems, stands);
const question = new Question({ path: "/api/staircase", query, answered, line: $("#prediction-state"), stands });

function changed() {
  keepInAddress(query());
  question.changed();
}

async function answered(answer) {
  $("#run").disabled = !answer.ok || Boolean(answer.computing);
  if (!answer.ok) { document.body.dataset.predicted = ""; return 0; }
  if (answer.computing) { question.say("computing …"); return 400; }
  await show(answer);
  return 0;
}

// Settings that differ in α only are one family, and their flows are drawn together.
function familyOf(answer) {
  const { alpha, ...rest } = answer.form;
  return JSON.stringify(rest);
}

async function show(answer) {
  if (answer.id !== state.shown) { remember(answer); }
  const isNew = answer.id !== state.shown;
  state.answer = answer;
  state.shown = answer.id;
  state.alpha = answer.form.alpha;
  if (isNew) {
    state.curve = null;
    chart.put("now", { time: [] });
    $("#result").replaceChildren(element("p", "Press Run the flow. The measured times and levels appear here, beside the predicted ones."));
    $("#export").hidden = true;
    delete document.body.dataset.result;
  }
  chart.put("stairs", answer.stairs);
  if (state.curve) { chart.put("now", state.curve); }
  chart.plot.below[0].axis_label = `time / η, η = ${number(answer.eta)}`;
  $("#clock").textContent = `The unit of time is η = ${answer.clock}: as α shrinks, the steps stay about where they are, and the flow grows sharper.`;
  $("#prediction-state").textContent = answer.jumps.length ? "predicted from the first weights, before the flow is solved" : "AGF predicts no jump for this setting";
  $("#jumps").textContent = String(answer.jumps.length);
  $("#first-jump").textContent = answer.jumps.length ? number(answer.jumps[0].flow_time) : "–";
  $("#last-jump").textContent = answer.jumps.length ? number(answer.jumps.at(-1).flow_time) : "–";
  $("#last-level").textContent = answer.jumps.length ? level(answer.jumps.at(-1).after, answer) : "–";
  showPredicted(answer);
  showJob(answer.job, answer.stored);
  document.body.dataset.predicted = answer.id;
  if (answer.stored) { await showResult(answer.id); }
}

// What is left at the end is rounding.
function level(value, answer) { return value < 1e-9 * answer.jumps[0].before ? "0" : number(value); }

function showPredicted(answer) {
  if (answer.stored) { $("#predicted").replaceChildren(); return; }
  const table = element("table", "", { class: "numbers" });
  const head = element("tr");
  for (const words of ["Jump", "Time, AGF", "Time of the flow", "Loss before", "Loss after"]) { head.append(element("th", words, { scope: "col" })); }
  const top = element("thead");
  top.append(head);
  const body = element("tbody");
  answer.jumps.forEach((jump, place) => {
    const row = element("tr");
    row.append(element("th", String(place + 1), { scope: "row" }), ...[number(jump.time), number(jump.flow_time), level(jump.before, answer), level(jump.after, answer)].map((words) => element("td", words)));
    body.append(row);
  });
  table.append(top, body);
  const box = element("div", "", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Predicted jumps" });
  box.append(table);
  $("#predicted").replaceChildren(...(answer.jumps.length ? [box] : []));
}

// The flow on the page stays as a thin line under the next one of the same family.
function remember(answer) {
  const family = familyOf(answer);
  if (family !== state.family) { state.others = []; }
  else if (state.curve && state.done) {
    state.others = [{ alpha: state.alpha, curve: state.curve }, ...state.others.filter((other) => other.alpha !== state.alpha)];
  }
  state.family = family;
  state.others = state.others.filter((other) => other.alpha !== answer.form.alpha).slice(0, OTHERS);
  for (let place = 1; place <= OTHERS; place += 1) {
    const other = state.others[place - 1];
    const model = chart.model(`before-${place}`);
    model.data = other ? { time: other.curve.time, loss: other.curve.loss } : { time: [], loss: [] };
  }
  $("#overlay-note").textContent = state.others.length ? `Thin: flows at α = ${state.others.map((other) => other.alpha).join(", ")}.` : "";
  state.done = false;
}

// ---- the flow

function onJobs(jobs) {
  state.jobs = jobs;
  const own = jobs.find((job) => job.id === `staircase:${state.shown}`) ?? null;
  const before = state.job;
  showJob(own, state.done);
  if (own?.notes?.curve && !state.done && !still.matches) {
    state.curve = own.notes.curve;
    chart.put("now", state.curve);
    document.body.dataset.points = String(state.curve.time.length);
  }
  if (own?.state === "failed" && before?.state !== "failed") { showProblems({ "": own.message }); }
  if (own?.state === "finished" && !state.done && state.answer) { showResult(state.shown); }
  showJobs($("#queue"), listed(jobs, (job) => job.kind === "staircase" && (ACTIVE.includes(job.state) || job.state === "failed")),
    (job) => ({ actions: ["stop", "remove"], isTold: job.state === "failed" }));
}

function showJob(job, stored) {
  state.job = job;
  const current = stored ? "finished" : job && job.state !== "finished" ? job.state : job ? "finished" : "not run";
  const badge = $("#run-state");
  badge.textContent = current;
  badge.className = `badge ${current.replace(" ", "-")}`;
  $("#run").hidden = ACTIVE.includes(current);
  $("#stop").hidden = !ACTIVE.includes(current);
  $("#bar").hidden = !job || !ACTIVE.includes(current);
  $("#stop-hint").hidden = ![...ACTIVE, "stopped"].includes(current);
  if (job) {
    $("#progress").value = job.total ? job.done / job.total : 0;
    $("#progress-text").textContent = current === "queued" ? waiting(job, state.jobs) : `${Math.round(100 * job.done)} % ${job.message}`;
  }
}

async function showResult(id) {
  if (id === state.reading) { return; }
  state.reading = id;
  const answer = await read(`/api/staircase/${id}/result`);
  if (id === state.reading) { state.reading = ""; }
  if (!answer.ok || id !== state.shown) { return; }
  state.curve = answer.curve;
  state.done = true;
  chart.put("now", answer.curve);
  // The server escapes every value; this is markup of its own templates.
  $("#result").innerHTML = answer.html;
  $("#predicted").replaceChildren();
  const link = $("#export");
  link.hidden = false;
  link.href = `/api/staircase/${id}/export`;
  showJob(state.job, true);
  document.body.dataset.result = id;
  showEarlier();
}

async function run() {
  // A new flow takes the place of one of this tab that still runs; those that were stopped are forgotten.
  for (const job of state.jobs.filter((other) => state.started.has(other.id) && other.id !== `staircase:${state.shown}`)) {
    if (ACTIVE.includes(job.state)) { await post("/api/jobs", { id: job.id, action: "stop" }); }
    else if (job.state === "stopped") { await post("/api/jobs", { id: job.id, action: "remove" }); }
  }
  const answer = await post("/api/staircase", { form: values() });
  if (!answer.ok) { showProblems(problemsOf(answer)); return; }
  state.started.add(answer.body.id);
  if (answer.body.state === "finished") { await showResult(answer.body.id.replace("staircase:", "")); }
}

// ---- lists

const newestList = newest();

async function showEarlier() {
  const answer = await newestList(read("/api/staircases"));
  if (!answer?.staircases?.length) { return; }
  $("#earlier").replaceChildren(...answer.staircases.map((row) => {
    const line = element("li");
    const words = element("span");
    words.append(element("a", row.title, { href: row.address }), element("span", ` ${row.story}`, { class: "hint" }));
    line.append(words, element("a", "Export", { href: `/api/staircase/${row.id}/export`, "aria-label": `Export ${row.title}` }));
    return line;
  }));
}

// ---- actions

form.addEventListener("submit", (event) => { event.preventDefault(); run(); });
$("#stop").addEventListener("click", () => control(`staircase:${state.shown}`, "stop"));
form.addEventListener("input", (event) => {
  const target = event.target;
  if (target.id === "f-data" || target.id === "auto") { return; }
  if (target.id === "alpha-slider") { form.elements.alpha.value = Number((10 ** Number(target.value)).toPrecision(2)).toString(); target.setAttribute("aria-valuetext", `α = ${form.elements.alpha.value}`); }
  if (target.name === "alpha") { showSlider(); }
  if (target.name === "template") { showTemplate(); }
  if (target.name === "case") {
    // Each case has its own scale of α and its own sizes; data that were pasted stay in the field.
    for (const [name, value] of Object.entries(defaults())) { form.elements[name].value = value; }
    $("#data-state").textContent = "";
    showControls();
  }
  changed();
});
$("#alpha-slider").addEventListener("change", async () => {
  if (!$("#auto").checked) { return; }
  const wanted = form.elements.alpha.value;
  const before = question.number;
  // The prediction of the new scale comes first; the flow follows it.
  for (let tries = 0; tries < 600 && form.elements.alpha.value === wanted; tries += 1) {
    if (question.number > before && state.answer?.form.alpha === wanted && document.body.dataset.predicted === state.shown) {
      if (!state.done) { run(); }
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
});
$("#draw").addEventListener("pointerdown", draw);
$("#draw").addEventListener("pointermove", draw);
$("#more").addEventListener("click", () => { const now = template(); if (now.length < 24) { setTemplate([...now, 0]); } });
$("#fewer").addEventListener("click", () => { const now = template(); if (now.length > 5) { setTemplate(now.slice(0, -1)); } });
$("#flat").addEventListener("click", () => setTemplate(template().map(() => 0)));
$("#waves").addEventListener("click", () => setTemplate(defaults().template.split(",").map(Number)));
$("#use-data").addEventListener("click", async () => {
  const answer = await post("/api/staircase/data", { text: $("#f-data").value });
  if (!answer.ok) { showProblems(problemsOf(answer, "data")); return; }
  showProblems({});
  form.elements.data.value = answer.data;
  $("#data-state").textContent = `Your own data are in use: ${answer.rows} rows, ${answer.columns} columns.`;
  changed();
});
$("#drop-data").addEventListener("click", () => {
  form.elements.data.value = "";
  $("#data-state").textContent = "";
  changed();
});

const stream = new Stream({ jobs: onJobs });
chart = await loadChart($("[data-chart]"));
showControls();
document.body.dataset.ready = "yes";
await question.ask();
stream.show("");
showEarlier();
