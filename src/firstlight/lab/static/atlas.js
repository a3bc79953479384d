// Room 4: a map of cells, theory's line over it, the runs of a cell, and sweeps that fill the map in.

import { $, all, ask, element, keepInAddress, newest, post, read, refusal, SILENCE, Stream } from "/static/lab.js";
import { ACTIVE, control, showJobs, waiting } from "/static/jobs.js";
import { problemsOf, Question, showProblems } from "/static/setting.js";

const form = $("#setting");
const state = { map: null, estimate: null, jobs: [], own: "", open: null, focus: [0, 0], asking: false, again: false, request: null, follow: "", done: null, failed: false, ended: "", timer: null, cell: "" };
// Viridis, from 0 to 1: its lightness rises evenly, also for readers who see colours differently.
const RAMP = [[68, 1, 84], [72, 36, 117], [65, 68, 135], [53, 95, 141], [42, 120, 142], [33, 145, 140], [34, 168, 132], [68, 191, 112], [122, 209, 81], [189, 223, 38], [253, 231, 37]];

function paint(share) {
  const place = Math.min(Math.max(share, 0), 1) * (RAMP.length - 1);
  const low = Math.floor(place), high = Math.min(low + 1, RAMP.length - 1);
  const rgb = RAMP[low].map((value, k) => Math.round(value + (RAMP[high][k] - value) * (place - low)));
  const light = rgb.map((value) => { const c = value / 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
  const luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2];
  return [`rgb(${rgb.join(" ")})`, luminance > 0.179 ? "#000" : "#fff"];
}

const NONE = all("#jobs > li"); // what the list says while it is empty

const short = (share) => (share === null ? "" : String(Math.round(share * 100) / 100));

// ---- the address: the view and the form of the next sweep

function view() {
  const values = {};
  if (state.map) {
    Object.assign(values, { map: state.map.map, x: state.map.x, y: state.map.y });
    for (const [axis, value] of Object.entries(state.map.fixed)) { values[`fix_${axis}`] = value; }
  }
  return values;
}

function values() {
  const entries = {};
  for (const control of form.elements) { if (control.name) { entries[control.name] = control.value.trim(); } }
  return entries;
}

function remember() {
  const open = state.open ? { cell: state.open.join(".") } : {};
  keepInAddress(new URLSearchParams({ ...view(), ...open, ...values() }).toString());
}

// ---- the map

// One question at a time. A choice of the user stays the request until it is answered; a refresh repeats the view.
async function draw(wanted) {
  if (wanted) { state.request = wanted; }
  state.again = true;
  if (state.asking) { return; }
  state.asking = true;
  try {
    while (state.again) {
      state.again = false;
      const request = state.request;
      const answer = await read(`/api/atlas?${new URLSearchParams(request ?? (state.follow ? { map: state.follow } : view()))}`);
      if (request !== state.request) { continue; } // the user has chosen again
      state.failed = !answer.ok;
      if (!answer.silent) { state.request = null; } // what was refused would be refused again
      if (answer.ok) { show(answer); } else { $("#map-state").textContent = answer.error ?? SILENCE; }
    }
  } finally { state.asking = false; }
}

function show(answer) {
  const there = answer.record !== null;
  $("#empty").hidden = there;
  $("#shown").hidden = !there;
  $("#export").hidden = !there;
  $("#map-state").textContent = "";
  state.map = there ? answer : null;
  // The map of a new sweep exists as soon as its worker has begun; until then the page goes on asking for it.
  if (there && answer.map === state.follow) { state.follow = ""; }
  document.body.dataset.map = there ? answer.map : "none";
  if (!there) { return; }
  const record = answer.record;
  document.body.dataset.ended = String(record.cells.reduce((sum, cell) => sum + cell.ended, 0));
  fill($("#map"), answer.families.map((family) => [family.id, `${family.title} (${family.runs} runs)`]), answer.map);
  const axes = Object.entries(answer.axes);
  fill($("#x"), axes, answer.x);
  fill($("#y"), axes, answer.y);
  showOthers(answer);
  $("#story").textContent = `${record.title}. ${record.story}${record.averaged.length ? ` Each cell is averaged over ${record.averaged.join(", ")} too.` : ""}`;
  $("#theory").textContent = record.theory;
  $(".line-sample").hidden = !record.lines.length;
  // The server escapes every value; this is markup of its own templates.
  $("#numbers").innerHTML = answer.table;
  $("#export").href = `/api/atlas/export?${new URLSearchParams(view())}`;
  drawGrid(record);
  clearTimeout(state.timer);
  if (answer.waiting) { state.timer = setTimeout(() => draw(), 2000); }
  if (state.open) { openCell(...state.open, true); }
  remember();
}

function fill(select, options, chosen) {
  if (document.activeElement === select && select.options.length === options.length) { select.value = chosen; return; }
  select.replaceChildren(...options.map(([value, text]) => element("option", text, { value })));
  select.value = chosen;
}

function showOthers(answer) {
  const wanted = JSON.stringify(answer.others);
  if ($("#others").dataset.shown !== wanted) {
    $("#others").dataset.shown = wanted;
    $("#others").replaceChildren(...Object.entries(answer.others).map(([axis, options]) => {
      const label = element("label", `${answer.axes[axis]} `);
      const select = element("select", "", { name: `fix_${axis}` });
      select.append(element("option", "all, averaged", { value: "" }), ...options.map(([value, name]) => element("option", name, { value })));
      label.append(select);
      return label;
    }));
  }
  for (const select of all("#others select")) { select.value = answer.fixed[select.name.slice(4)] ?? ""; }
}

function words(record, cell) {
  const where = `${record.x.label} ${record.x.names[cell.column]}, ${record.y.label} ${record.y.names[cell.row]}`;
  const ended = cell.ended ? `${cell.generalised} of ${cell.ended} runs generalised` : "no run has ended";
  return `${where}: ${ended}${cell.missing ? `, ${cell.missing} to come` : ""}${cell.chance === null ? "" : `; theory expects ${Math.round(cell.chance * 100)} %`}`;
}

function drawGrid(record) {
  const grid = $("#grid");
  const columns = record.x.names.length, rows = record.y.names.length;
  const hadFocus = grid.contains(document.activeElement);
  const shape = `${columns}x${rows} ${record.x.label} ${record.y.label} ${record.x.names} ${record.y.names}`;
  if (grid.dataset.shape !== shape) {
    grid.dataset.shape = shape;
    state.focus = [Math.min(state.focus[0], columns - 1), Math.min(state.focus[1], rows - 1)];
    if (state.open) { closeCell(); } // its place is that of another cell now
    buildGrid(grid, record, columns, rows);
  }
  grid.setAttribute("aria-label", `Share of seeds that generalise by ${record.y.label} and ${record.x.label}`);
  for (const cell of record.cells) {
    const button = cellButton(cell.column, cell.row);
    const [colour, ink] = cell.share === null ? ["", ""] : paint(cell.share);
    button.style.background = colour;
    button.style.color = ink;
    button.firstChild.textContent = cell.share === null ? "·" : short(cell.share);
    button.className = cell.share === null ? "none" : cell.missing ? "part" : "";
    button.setAttribute("aria-label", words(record, cell));
    button.title = words(record, cell);
  }
  markOpen();
  if (hadFocus) { cellButton(...state.focus)?.focus(); }
  drawLine();
}

function buildGrid(grid, record, columns, rows) {
  const body = element("tbody");
  const head = element("tr", "", { role: "row" });
  head.append(element("th", `↑ ${record.y.label}`, { class: "axis up", colspan: columns + 1, role: "columnheader" }));
  body.append(head);
  for (let row = rows - 1; row >= 0; row -= 1) {
    const line = element("tr", "", { role: "row" });
    line.append(element("th", record.y.names[row], { scope: "row", role: "rowheader" }));
    for (let column = 0; column < columns; column += 1) {
      const place = element("td", "", { role: "gridcell" });
      const first = column === state.focus[0] && row === state.focus[1];
      const button = element("button", "", { type: "button", "data-c": column, "data-r": row, tabindex: first ? "0" : "-1", "aria-expanded": "false", "aria-controls": "cell" });
      button.append(element("span"));
      place.append(button);
      line.append(place);
    }
    body.append(line);
  }
  const foot = element("tr", "", { role: "row" });
  foot.append(element("td", "", { role: "gridcell" }));
  for (const name of record.x.names) { foot.append(element("th", name, { scope: "col", role: "columnheader" })); }
  const label = element("tr", "", { role: "row" });
  label.append(element("td", "", { role: "gridcell" }), element("th", `${record.x.label} →`, { class: "axis", colspan: columns, role: "columnheader" }));
  body.append(foot, label);
  grid.replaceChildren(body);
}

function cellButton(column, row) { return $(`#grid button[data-c="${column}"][data-r="${row}"]`); }

// Theory's line lies over the cells: its points are in units of cells, and cells differ in size a little.
function drawLine() {
  const line = $("#line");
  line.replaceChildren();
  const record = state.map?.record;
  line.style.display = record?.lines.length ? "" : "none"; // an empty drawing would make the map scroll
  if (!record?.lines.length) { return; }
  const columns = record.x.names.length, rows = record.y.names.length;
  const box = $("#map-box").getBoundingClientRect();
  const first = cellButton(0, rows - 1)?.parentElement.getBoundingClientRect();
  const last = cellButton(columns - 1, 0)?.parentElement.getBoundingClientRect();
  if (!first || !first.width) { return; }
  const [width, height] = [last.right - first.left, last.bottom - first.top];
  Object.assign(line.style, { left: `${first.left - box.left}px`, top: `${first.top - box.top}px`, width: `${width}px`, height: `${height}px` });
  line.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const centre = (place, count, at) => {
    const low = Math.min(Math.max(Math.floor(place - 0.5), 0), count - 1), high = Math.min(low + 1, count - 1);
    return at(low) + (at(high) - at(low)) * (place - 0.5 - low);
  };
  const middleX = (column) => { const r = cellButton(column, 0).parentElement.getBoundingClientRect(); return (r.left + r.right) / 2 - first.left; };
  const middleY = (row) => { const r = cellButton(0, row).parentElement.getBoundingClientRect(); return (r.top + r.bottom) / 2 - first.top; };
  for (const points of record.lines) {
    const text = points.map(([x, y]) => `${centre(x, columns, middleX).toFixed(1)},${centre(y, rows, middleY).toFixed(1)}`).join(" ");
    for (const name of ["edge", "core"]) {
      const drawn = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
      drawn.setAttribute("points", text);
      drawn.setAttribute("class", name);
      line.append(drawn);
    }
  }
}

function move(column, row) {
  const record = state.map.record;
  const next = [Math.min(Math.max(column, 0), record.x.names.length - 1), Math.min(Math.max(row, 0), record.y.names.length - 1)];
  cellButton(...state.focus)?.setAttribute("tabindex", "-1");
  state.focus = next;
  const button = cellButton(...next);
  button.setAttribute("tabindex", "0");
  button.focus();
}

$("#grid").addEventListener("keydown", (event) => {
  const [column, row] = state.focus;
  const moves = { ArrowLeft: [column - 1, row], ArrowRight: [column + 1, row], ArrowUp: [column, row + 1], ArrowDown: [column, row - 1], Home: [0, row], End: [1e9, row] };
  if (moves[event.key]) { event.preventDefault(); move(...moves[event.key]); }
});
$("#grid").addEventListener("focusin", (event) => {
  const { c, r } = event.target.dataset;
  if (c !== undefined && (Number(c) !== state.focus[0] || Number(r) !== state.focus[1])) { move(Number(c), Number(r)); }
});
$("#grid").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button) { openCell(Number(button.dataset.c), Number(button.dataset.r)); }
});

// ---- the runs of a cell

function closeCell() {
  state.open = null;
  state.cell = "";
  markOpen();
  delete document.body.dataset.cell;
  $("#cell-title").textContent = "2 · Runs of a cell";
  $("#cell").replaceChildren(element("p", "Open a cell of the map: its runs, their curves and what happened in each stand here.", { class: "hint" }));
}

function markOpen() {
  for (const button of all("#grid button")) {
    const open = state.open && Number(button.dataset.c) === state.open[0] && Number(button.dataset.r) === state.open[1];
    button.setAttribute("aria-expanded", String(Boolean(open)));
  }
}

const newestCell = newest();

// A quiet opening repeats the cell on the page while a sweep fills it in: what has not changed stays as the reader left it.
async function openCell(column, row, quietly = false) {
  const record = state.map?.record;
  const cell = record?.cells.find((one) => one.column === column && one.row === row);
  if (!cell) { return; }
  state.open = [column, row];
  markOpen();
  remember();
  $("#cell-title").textContent = `2 · Runs at ${record.x.label} ${record.x.names[column]}, ${record.y.label} ${record.y.names[row]}`;
  const key = `${column}.${row}`;
  const query = new URLSearchParams({ ids: cell.runs.slice(0, 60).join(",") });
  const answer = await newestCell(cell.runs.length ? ask(`/api/atlas/cell?${query}`) : null);
  if (answer === undefined || state.open?.join(".") !== key) { return; }
  const box = $("#cell");
  if (!answer?.ok) {
    box.replaceChildren(answer ? element("p", refusal(answer), { class: "problem" }) : element("p", "No run of this cell has begun. Start or resume the sweep."));
    state.cell = "";
  } else if (answer.text !== state.cell) {
    const open = all("details", box).map((details) => details.open);
    state.cell = answer.text;
    // The server escapes every value; this is markup of its own templates.
    box.innerHTML = answer.text;
    if (quietly) { all("details", box).forEach((details, place) => { details.open = open[place] ?? false; }); }
  }
  document.body.dataset.cell = key;
  if (!quietly) { $("#cell-title").scrollIntoView({ block: "nearest" }); $("#cell-title").focus({ preventScroll: true }); }
}

// ---- a new sweep: its cost first

const question = new Question({ path: "/api/atlas/estimate", query: () => new URLSearchParams(values()), answered, pause: 250 });

function changed() {
  remember();
  $("#start").disabled = true;
  question.changed();
}

function size(bytes) {
  const units = ["B", "kB", "MB", "GB"];
  let place = 0;
  while (bytes >= 1000 && place < 3) { bytes /= 1000; place += 1; }
  return `${bytes < 10 ? bytes.toFixed(1) : Math.round(bytes)} ${units[place]}`;
}

function duration(seconds) {
  if (seconds < 90) { return `${Math.max(1, Math.round(seconds))} s`; }
  if (seconds < 5400) { return `${Math.round(seconds / 60)} min`; }
  return `${(seconds / 3600).toFixed(1)} h`;
}

function answered(answer) {
  const ok = answer.ok;
  state.estimate = ok ? answer : null;
  for (const name of ["points", "programs", "time", "bytes"]) { if (!ok) { $(`#cost-${name}`).textContent = "–"; } }
  $("#ask").hidden = !(ok && answer.asks && answer.left);
  $("#sure").checked = false;
  if (ok) {
    state.own = answer.id;
    $("#cost-points").textContent = answer.left === 0 ? `${answer.points}, all in the store` : answer.left < answer.points ? `${answer.left} of ${answer.points} left` : `${answer.points}`;
    $("#cost-programs").textContent = String(answer.programs);
    $("#cost-time").textContent = answer.left ? duration(answer.core_hours * 3600) : "–";
    $("#cost-bytes").textContent = answer.left ? size(answer.bytes) : "–";
    $("#ask-text").textContent = `This sweep takes about ${duration(answer.core_hours * 3600)} of a core. Start it all the same.`;
  }
  showJob();
  document.body.dataset.estimated = ok ? answer.id : "no";
}

function showJob() {
  const job = state.jobs.find((one) => one.id === state.own) ?? state.jobs.find((one) => ACTIVE.includes(one.state)) ?? null;
  const own = job && job.id === state.own;
  const active = Boolean(job) && ACTIVE.includes(job.state);
  const asks = state.estimate?.asks && state.estimate.left && !$("#sure").checked;
  $("#start").hidden = own && (active || job.state === "stopped");
  $("#start").disabled = !state.estimate || Boolean(asks);
  $("#start").textContent = state.estimate?.left === 0 ? "Show its map" : "Start";
  $("#stop").hidden = !active;
  $("#resume").hidden = !(own && job.state === "stopped");
  $("#bar").hidden = !active;
  if (active) {
    $("#progress").value = job.total ? job.done / job.total : 0;
    $("#progress-text").textContent = job.state === "queued" ? waiting(job, state.jobs) : `${Math.round(job.done)} of ${Math.round(job.total)} runs`;
  }
  state.acting = job?.id ?? "";
  document.body.dataset.job = job?.state ?? "none";
}

function onJobs(jobs) {
  const before = state.done;
  state.jobs = jobs.filter((job) => job.kind === "sweep").reverse();
  state.done = state.jobs.map((job) => `${job.id} ${job.turn} ${job.done} ${job.state} ${job.notes?.family ?? ""}`).join(";");
  showJob();
  showJobs($("#jobs"), state.jobs, (job) => ({ words: `${job.title}: ${Math.round(job.done)} of ${Math.round(job.total)} runs` }), NONE);
  // The first news may be newer than the map that was asked for when the page opened.
  if (state.done === before && !state.failed) { return; }
  draw();
  // A sweep that has ended has another cost: what is left of it.
  const own = state.jobs.find((job) => job.id === state.own && !ACTIVE.includes(job.state));
  const ended = own ? `${own.id} ${own.turn} ${own.state} ${own.done}` : "";
  if (ended && ended !== state.ended) { question.ask(); }
  state.ended = ended;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (state.estimate?.left === 0) { closeCell(); draw({ map: state.estimate.family }); return; }
  const answer = await post("/api/atlas", { form: values(), sure: $("#sure").checked });
  if (!answer.ok) { showProblems(problemsOf(answer)); return; }
  document.body.dataset.started = answer.id;
  closeCell();
  state.follow = answer.family;
  draw();
});
form.addEventListener("input", (event) => { event.target.id === "sure" ? showJob() : changed(); });
for (const action of ["stop", "resume"]) { $(`#${action}`).addEventListener("click", () => control(state.acting, action)); }
$("#view").addEventListener("submit", (event) => event.preventDefault());
$("#view").addEventListener("input", (event) => {
  const chosen = event.target;
  state.follow = "";
  closeCell();
  if (chosen.name === "map") { draw({ map: chosen.value }); return; }
  const wanted = { ...view() };
  if (chosen.name.startsWith("fix_")) { wanted[chosen.name] = chosen.value; }
  else {
    // Two axes of one kind: the other axis takes the place of the chosen one.
    const other = chosen.name === "x" ? "y" : "x";
    if (wanted[other] === chosen.value) { wanted[other] = wanted[chosen.name]; }
    wanted[chosen.name] = chosen.value;
    delete wanted[`fix_${chosen.value}`];
  }
  draw(wanted);
});
new ResizeObserver(drawLine).observe($("#map-box"));
$("#ramp").style.background = `linear-gradient(to right, ${RAMP.map((rgb) => `rgb(${rgb.join(" ")})`).join(", ")})`;

const stream = new Stream({ jobs: onJobs });
stream.show("");
const first = Object.fromEntries(new URLSearchParams(location.search));
document.body.dataset.ready = "yes";
const wanted = Object.fromEntries(Object.entries(first).filter(([name]) => ["map", "x", "y"].includes(name) || name.startsWith("fix_")));
await Promise.all([draw(wanted), question.ask()]);
if (/^\d+\.\d+$/.test(first.cell ?? "") && state.map) { await openCell(...first.cell.split(".").map(Number), true); }
