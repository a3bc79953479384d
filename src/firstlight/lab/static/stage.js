// The stage of the feature theatre: draws the features of a run at a chosen time. The lab and exported files share it,
// so it imports nothing and takes its colours from the page.

const FRAME_MS = 160;
const CALM_MS = 1000; // a reader who asked for less motion gets one picture a second, and only after pressing Play
const MOST_UNITS = 4;
const CIRCLES = 6;
const BLOCKS = { 4: 1, 6: 2 }; // hidden units of a crafted block → series of its colour; every other number is series 3

const $ = (id) => document.getElementById(id);
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const percent = (share) => `${Math.round(100 * share)} %`;
const short = (value) => (value === null || Number.isNaN(value) ? "–" : String(Number(value.toPrecision(3))));

function node(tag, attributes = {}, text = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) { made.setAttribute(name, value); }
  return made;
}

function svg(tag, attributes = {}, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  if (text) { made.textContent = text; }
  for (const [name, value] of Object.entries(attributes)) { made.setAttribute(name, value); }
  return made;
}

function bytes(text) { return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)); }
const decode = (text, kind) => new kind(bytes(text).buffer);

function quantile(sorted, share) {
  if (!sorted.length) { return NaN; }
  const at = share * (sorted.length - 1);
  const low = Math.floor(at);
  return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}

export class Stage {
  constructor(root, changed = () => {}) {
    this.root = root;
    this.changed = changed;
    this.timer = null;
    $("time").addEventListener("input", () => { this.pause(); this.go(Number($("time").value)); });
    $("play").addEventListener("click", () => (this.timer ? this.pause() : this.play()));
    $("units").addEventListener("change", () => this.readUnits());
    $("irrep").addEventListener("change", () => { this.irrep = Number($("irrep").value); this.cursor.irrep = this.irrep; this.draw(); this.changed(); });
    const heat = $("heat");
    heat.addEventListener("pointermove", (event) => { const cell = this.cellAt(event); if (cell) { this.point(cell, false); } });
    heat.addEventListener("click", (event) => { const cell = this.cellAt(event); if (cell) { this.point(cell, true); this.toggle(cell.unit); } });
    heat.addEventListener("focus", () => this.point(this.cursor, true));
    heat.addEventListener("keydown", (event) => this.key(event));
    for (const details of root.querySelectorAll("details[data-table]")) { details.addEventListener("toggle", () => this.fill(details)); }
    new ResizeObserver(() => { if (this.data) { this.drawHeat(); } }).observe(heat.parentElement);
    new MutationObserver(() => { if (this.data) { this.drawHeat(); } }).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (this.data) { this.drawHeat(); } });
  }

  // ---- the data

  show(data, view = {}) {
    this.pause();
    this.data = data;
    this.content = decode(data.content, Uint8Array);
    this.sizes = decode(data.sizes, Float32Array);
    this.waves = decode(data.waves, Int16Array);
    this.points = decode(data.points, Int16Array);
    this.energies = data.energies ? decode(data.energies, Float32Array) : null;
    this.frames = data.steps.length;
    const asked = Number(view.at ?? NaN);
    this.frame = data.steps.includes(asked) ? data.steps.indexOf(asked) : this.frames - 1;
    this.ranked = this.rankIrreps();
    const named = data.irreps.indexOf(view.irrep ?? "");
    this.irrep = named > 0 ? named : this.ranked[0] ?? 0;
    const wanted = (view.units ?? "").split(",").map(Number).filter((number) => data.units.includes(number));
    this.chosen = view.units && wanted.length ? wanted.slice(0, MOST_UNITS).map((number) => data.units.indexOf(number)) : this.strongest();
    this.cursor = { unit: this.chosen[0] ?? 0, irrep: this.irrep };
    this.root.hidden = false;
    const time = $("time");
    time.max = String(this.frames - 1);
    time.disabled = this.frames < 2;
    $("play").disabled = this.frames < 2;
    $("time-note").textContent = this.frames < 2
      ? "This run stored its weights at the end only. Runs that are started in Grok live, or with snapshots = 40 in their spec, can be played."
      : `${this.frames} stored steps. Press Play, or move the slider with the arrow keys.`;
    $("irrep").replaceChildren(...this.ranked.map((place) => node("option", { value: place }, data.irreps[place])));
    $("irrep").value = String(this.irrep);
    const some = data.units.length < data.columns ? `${data.units.length} of ${data.columns} ${data.column}s are drawn, those with the largest weights at the end. ` : "";
    const gone = data.units.length > data.alive ? `Below the line are ${data.units.length - data.alive} units that weight decay shrank to less than a tenth of the largest: what is left of them is noise.` : "";
    $("heat-note").textContent = `A row is a ${data.column}, a column an irrep, and strong colour means a large share of ${data.column === "hidden unit" ? "the weights into the unit" : "its weights"}. ${some}${gone}`;
    $("heat-caption").textContent = `Rows are sorted by what they become at the end.`;
    this.draw();
    document.body.dataset.shown = data.id;
  }

  share(unit, irrep, frame = this.frame) { return this.content[(frame * this.data.units.length + unit) * this.data.irreps.length + irrep] / 255; }
  size(unit, frame = this.frame) { return this.sizes[frame * this.data.units.length + unit]; }
  energy(unit, frame = this.frame) { return this.energies[frame * this.data.units.length + unit]; }
  wave(unit, block, frame = this.frame) {
    const { units, blocks, elements, wave_sizes } = this.data;
    const from = ((frame * units.length + unit) * blocks.length + block) * elements;
    return Array.from(this.waves.subarray(from, from + elements), (value) => (value / 32767) * wave_sizes[unit]);
  }
  point2(irrep, element, frame = this.frame) {
    const from = ((frame * this.data.irreps.length + irrep) * this.data.elements + element) * 2;
    return [this.points[from] / 32767, this.points[from + 1] / 32767];
  }
  best(unit, frame = this.frame) {
    let best = 0;
    for (let irrep = 1; irrep < this.data.irreps.length; irrep += 1) { if (this.share(unit, irrep, frame) > this.share(unit, best, frame)) { best = irrep; } }
    return best;
  }

  // Nontrivial irreps by the size of the embedding on them at the end.
  rankIrreps() {
    const places = this.data.irreps.map((_, place) => place).slice(1);
    return places.sort((a, b) => this.data.point_sizes[b] - this.data.point_sizes[a] || a - b);
  }

  // The largest unit of each of the strongest irreps, at the end.
  strongest() {
    const last = this.frames - 1;
    const chosen = [];
    for (const irrep of this.ranked) {
      const own = this.data.units.map((_, unit) => unit).filter((unit) => unit < this.data.alive && this.best(unit, last) === irrep);
      own.sort((a, b) => this.size(b, last) - this.size(a, last));
      if (own.length) { chosen.push(own[0]); }
      if (chosen.length === MOST_UNITS) { break; }
    }
    return chosen.length ? chosen : this.data.units.length ? [0] : [];
  }

  // The state for an address: what `show` takes back.
  view() {
    return { at: this.data.steps[this.frame], units: this.chosen.map((unit) => this.data.units[unit]).join(","), irrep: this.data.irreps[this.irrep] };
  }

  // ---- time

  go(frame) {
    this.frame = Math.max(0, Math.min(this.frames - 1, frame));
    this.draw();
    this.changed();
  }

  play() {
    if (this.frames < 2) { return; }
    if (this.frame === this.frames - 1) { this.go(0); }
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.timer = setInterval(() => {
      this.go(this.frame + 1);
      if (this.frame === this.frames - 1) { this.pause(); }
    }, calm ? CALM_MS : FRAME_MS);
    $("play").textContent = "Pause";
    $("play").setAttribute("aria-pressed", "true");
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    $("play").textContent = "Play";
    $("play").setAttribute("aria-pressed", "false");
  }

  // ---- units

  toggle(unit) {
    const at = this.chosen.indexOf(unit);
    if (at >= 0) { if (this.chosen.length > 1) { this.chosen.splice(at, 1); } }
    else { this.chosen = [...this.chosen, unit].slice(-MOST_UNITS); }
    this.draw();
    this.changed();
  }

  readUnits() {
    const words = $("units").value.split(/[\s,;]+/).filter(Boolean);
    const places = words.map((word) => this.data.units.indexOf(Number(word)));
    const wrong = words.filter((_, at) => places[at] < 0);
    const line = $("units-problem");
    line.hidden = !wrong.length && words.length > 0 && words.length <= MOST_UNITS;
    line.textContent = wrong.length ? `not drawn here: ${wrong.join(", ").slice(0, 60)}; the numbers stand beside the rows of the map` : !words.length ? "give the number of a unit, such as " + this.data.units[0] : `at most ${MOST_UNITS} units; got ${words.length}`;
    if (!line.hidden) { return; }
    this.chosen = [...new Set(places)];
    this.draw();
    this.changed();
  }

  // ---- drawing

  draw() {
    const { steps, clock } = this.data;
    $("time").value = String(this.frame);
    const words = `${clock} ${steps[this.frame]} of ${steps[this.frames - 1]}`;
    $("time-text").textContent = words;
    $("time").setAttribute("aria-valuetext", words);
    $("units").value = this.chosen.map((unit) => this.data.units[unit]).join(", ");
    $("irrep").value = String(this.irrep);
    this.drawHeat();
    this.drawWaves();
    this.drawCircles();
    this.drawEnergy();
    this.drawOrders();
    this.name(false);
    for (const details of this.root.querySelectorAll("details[data-table][open]")) { this.fill(details); }
    document.body.dataset.frame = String(this.frame);
  }

  layout() {
    const canvas = $("heat");
    const { units, irreps } = this.data;
    const width = canvas.clientWidth || 320;
    const row = Math.max(4, Math.min(14, Math.floor(620 / Math.max(1, units.length))));
    const left = 34, bottom = 22, top = 2;
    return { width, row, left, top, height: top + row * units.length + bottom, cell: (width - left - 2) / irreps.length };
  }

  drawHeat() {
    const canvas = $("heat");
    const { units, irreps, alive, column } = this.data;
    const { width, row, left, top, height, cell } = this.layout();
    const scale = devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    const [paper, dark, ink, muted] = ["paper", "1", "ink", "muted"].map((name) => colour(`--fl-${name}`));
    pen.fillStyle = paper;
    pen.fillRect(0, 0, width, height);
    pen.fillStyle = dark;
    for (let unit = 0; unit < units.length; unit += 1) {
      for (let irrep = 0; irrep < irreps.length; irrep += 1) {
        pen.globalAlpha = this.share(unit, irrep);
        pen.fillRect(left + irrep * cell, top + unit * row, Math.ceil(cell), row);
      }
    }
    pen.globalAlpha = 1;
    pen.strokeStyle = muted;
    pen.strokeRect(left, top, cell * irreps.length, row * units.length);
    if (alive < units.length) {
      pen.beginPath(); pen.moveTo(left - 30, top + alive * row); pen.lineTo(left + cell * irreps.length, top + alive * row); pen.stroke();
    }
    pen.font = `10px ${colour("--fl-font") || "sans-serif"}`;
    pen.fillStyle = muted;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    const stride = Math.ceil(12 / row);
    for (let unit = 0; unit < units.length; unit += stride) { if (!this.chosen.includes(unit)) { pen.fillText(String(units[unit]), left - 8, top + (unit + 0.5) * row); } }
    pen.textAlign = "center";
    const widest = Math.max(...irreps.map((label) => pen.measureText(label).width)) + 6;
    const every = Math.max(1, Math.ceil(widest / cell));
    for (let irrep = 0; irrep < irreps.length; irrep += every) { pen.fillText(irreps[irrep], left + (irrep + 0.5) * cell, top + row * units.length + 12); }
    this.chosen.forEach((unit, place) => {
      pen.fillStyle = colour(`--fl-${place + 1}`);
      pen.fillRect(left - 5, top + unit * row, 5, row);
    });
    pen.strokeStyle = ink;
    pen.lineWidth = 2;
    pen.strokeRect(left + this.cursor.irrep * cell, top + this.cursor.unit * row, cell, row);
    const pure = units.slice(0, alive).filter((_, unit) => this.share(unit, this.best(unit)) > 0.9).length;
    canvas.setAttribute("aria-label", `Heat map of ${units.length} ${column}s and ${irreps.length} irreps. Now ${pure} of ${alive} living units hold more than 90 % of one irrep.`);
  }

  cellAt(event) {
    const { row, left, top, cell } = this.layout();
    const box = $("heat").getBoundingClientRect();
    const irrep = Math.floor((event.clientX - box.left - left) / cell), unit = Math.floor((event.clientY - box.top - top) / row);
    return irrep >= 0 && unit >= 0 && irrep < this.data.irreps.length && unit < this.data.units.length ? { unit, irrep } : null;
  }

  point(cell, aloud) {
    this.cursor = { unit: cell.unit, irrep: cell.irrep };
    this.drawHeat();
    this.name(aloud);
  }

  // Only the keyboard speaks: a pointer or a film would talk without end.
  name(aloud) {
    const { unit, irrep } = this.cursor;
    const { units, irreps, dims, column, steps, clock } = this.data;
    const largest = Math.max(...units.map((_, place) => this.size(place)));
    const kind = dims[irrep] > 1 ? `, of dimension ${dims[irrep]},` : "";
    const words = `${column[0].toUpperCase()}${column.slice(1)} ${units[unit]}: the irrep ${irreps[irrep]}${kind} holds ${percent(this.share(unit, irrep))} of ${column === "hidden unit" ? "the weights into it" : "its weights"} at ${clock} ${steps[this.frame]}. Its strongest irrep is ${irreps[this.best(unit)]} (${percent(this.share(unit, this.best(unit)))}); its size is ${percent(largest > 0 ? this.size(unit) / largest : 0)} of the largest.`;
    $("named").textContent = words;
    if (aloud) { $("spoken").textContent = words; }
  }

  key(event) {
    const { unit, irrep } = this.cursor;
    const last = { unit: this.data.units.length - 1, irrep: this.data.irreps.length - 1 };
    const moves = {
      ArrowUp: [unit - 1, irrep], ArrowDown: [unit + 1, irrep], ArrowLeft: [unit, irrep - 1], ArrowRight: [unit, irrep + 1],
      PageUp: [unit - 10, irrep], PageDown: [unit + 10, irrep], Home: [unit, 0], End: [unit, last.irrep],
    };
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); this.toggle(unit); return; }
    if (!moves[event.key]) { return; }
    event.preventDefault();
    const within = (value, most) => Math.max(0, Math.min(most, value));
    this.point({ unit: within(moves[event.key][0], last.unit), irrep: within(moves[event.key][1], last.irrep) }, true);
  }

  drawWaves() {
    const { units, blocks, elements, abelian, irreps, wave_sizes } = this.data;
    const W = 300, H = 150, left = 8, top = 24, high = H - top - 18;
    const dashes = ["", "5 3", "1.5 3"];
    $("waves").replaceChildren(...this.chosen.map((unit, place) => {
      const best = this.best(unit);
      const title = `Unit ${units[unit]}: ${irreps[best]}, ${percent(this.share(unit, best))}`;
      const drawing = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `Weights over the elements. ${title}` });
      const x = (element) => left + ((W - 2 * left) * element) / Math.max(1, elements - 1);
      const y = (value) => top + (high / 2) * (1 - value / (wave_sizes[unit] || 1));
      drawing.append(svg("text", { x: left, y: 12, class: "strong" }, title), svg("line", { x1: left, x2: W - left, y1: y(0), y2: y(0), class: "axis" }));
      blocks.forEach((_, block) => {
        const values = this.wave(unit, block);
        const stroke = `var(--fl-${place + 1})`;
        if (abelian) {
          drawing.append(svg("polyline", { class: "line", points: values.map((value, element) => `${x(element).toFixed(1)},${y(value).toFixed(1)}`).join(" "), style: `stroke: ${stroke}`, "stroke-dasharray": dashes[block % 3] }));
        }
        values.forEach((value, element) => {
          const shape = block === 0 ? svg("circle", { cx: x(element).toFixed(1), cy: y(value).toFixed(1), r: 2.2 }) : block === 1
            ? svg("rect", { x: (x(element) - 2).toFixed(1), y: (y(value) - 2).toFixed(1), width: 4, height: 4 })
            : svg("path", { d: `M${(x(element) - 2.6).toFixed(1)},${(y(value) + 2).toFixed(1)}h5.2l-2.6,-4.6z` });
          shape.setAttribute("style", abelian && block > 0 ? `fill: none` : `fill: ${stroke}; fill-opacity: ${[1, 0.65, 0.4][block % 3]}`);
          if (!abelian || block === 0) { drawing.append(shape); }
        });
      });
      drawing.append(svg("text", { x: left, y: H - 4 }, "element 0"), svg("text", { x: W - left, y: H - 4, "text-anchor": "end" }, `element ${elements - 1}`));
      return drawing;
    }));
    const marks = abelian ? ["solid with dots", "dashed", "dotted"] : ["circles", "squares", "triangles"];
    $("waves-caption").textContent = `The weights of a unit over the elements of the group: ${blocks.map((name, block) => `${name} (${marks[block % 3]})`).join(", ")}. The scale of a unit is the same at all times.`;
  }

  drawCircles() {
    const { irreps, elements, dims, orbits, abelian, column } = this.data;
    const shown = [this.irrep, ...this.ranked.filter((place) => place !== this.irrep)].slice(0, CIRCLES);
    const S = 160, middle = S / 2 + 8, radius = 66;
    $("circles").replaceChildren(...shown.map((irrep) => {
      const share = orbits[this.frame][irrep];
      const drawing = svg("svg", { viewBox: `0 0 ${S} ${S + 12}`, role: "img", "aria-label": `The elements on irrep ${irreps[irrep]}; orbit share ${share.toFixed(2)}` });
      drawing.append(svg("text", { x: S / 2, y: 11, "text-anchor": "middle", class: irrep === this.irrep ? "strong" : "" }, `${irreps[irrep]}, orbit ${share.toFixed(2)}`));
      drawing.append(svg("line", { x1: S / 2 - radius, x2: S / 2 + radius, y1: middle + 6, y2: middle + 6, class: "axis" }), svg("line", { x1: S / 2, x2: S / 2, y1: middle + 6 - radius, y2: middle + 6 + radius, class: "axis" }));
      const places = Array.from({ length: elements }, (_, element) => { const [x, y] = this.point2(irrep, element); return [S / 2 + radius * x, middle + 6 - radius * y]; });
      places.forEach(([x, y], element) => {
        const dot = svg("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: 3.2, style: `fill: hsl(${Math.round((360 * element) / elements)} 65% 50%)` });
        dot.append(svg("title", {}, `element ${element}`));
        drawing.append(dot);
        if (elements <= 30 && irrep === this.irrep) { drawing.append(svg("text", { x: (x + 5).toFixed(1), y: (y - 3).toFixed(1), style: "font-size: 8px" }, String(element))); }
      });
      return drawing;
    }));
    const wide = dims[this.irrep] > 1 ? ` An irrep of dimension ${dims[this.irrep]} fills up to ${2 * dims[this.irrep] ** 2} directions; the plane shows the two in which the elements spread most at the end.` : "";
    $("circles-caption").textContent = `Each dot is an element of the group, placed by ${column === "hidden unit" ? "its weights to all hidden units" : "its embedding"}, as far as they lie in one irrep. An orbit of 1 means that distances depend on the quotient of two elements alone${abelian ? ": a circle" : ""}.${wide}`;
  }

  // Each unit's energy relative to the maximum E* of the irrep that it ends in, if E* is known.
  energyCurves() {
    const { units, alive, peaks } = this.data;
    const last = this.frames - 1;
    const relative = peaks.some((peak) => peak !== null);
    const of = (unit, frame) => (relative ? this.energy(unit, frame) / (peaks[this.best(unit, last)] ?? NaN) : this.energy(unit, frame));
    const spread = [];
    for (let frame = 0; frame < this.frames; frame += 1) {
      const values = units.slice(0, alive).map((_, unit) => of(unit, frame)).filter((value) => Number.isFinite(value)).sort((a, b) => a - b);
      spread.push([0.1, 0.5, 0.9].map((share) => quantile(values, share)));
    }
    return { relative, spread, chosen: this.chosen.map((unit) => Array.from({ length: this.frames }, (_, frame) => of(unit, frame))) };
  }

  drawEnergy() {
    const { steps, clock, no_energies, units } = this.data;
    if (!this.energies) {
      $("energy").replaceChildren(node("p", {}, `There is no energy to show: ${no_energies}.`));
      $("energy-caption").textContent = "";
      return;
    }
    const { relative, spread, chosen } = this.energyCurves();
    const W = 420, H = 220, left = 40, right = 8, top = 10, bottom = 30;
    const finite = [...spread.flat(), ...chosen.flat()].filter((value) => Number.isFinite(value));
    const most = Math.max(relative ? 1.08 : 0, ...finite) || 1;
    const x = (step) => left + ((W - left - right) * (step - steps[0])) / Math.max(1, steps[this.frames - 1] - steps[0]);
    const y = (value) => H - bottom - ((H - top - bottom) * value) / most;
    const drawing = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "Energy of the units over training time" });
    const path = (values) => values.map((value, frame) => (Number.isFinite(value) ? `${x(steps[frame]).toFixed(1)},${y(value).toFixed(1)}` : "")).filter(Boolean).join(" ");
    drawing.append(svg("polygon", { class: "spread", points: `${path(spread.map((row) => row[2]))} ${path(spread.map((row) => row[0])).split(" ").reverse().join(" ")}` }));
    for (const value of relative ? [0, 0.5, 1] : [0, most / 2, most]) {
      drawing.append(svg("line", { x1: left, x2: W - right, y1: y(value), y2: y(value), class: relative && value === 1 ? "peak" : "axis" }), svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, relative && value === 1 ? "E*" : short(value)));
    }
    drawing.append(svg("polyline", { class: "line", points: path(spread.map((row) => row[1])), style: "stroke: var(--fl-muted)" }));
    chosen.forEach((values, place) => drawing.append(svg("polyline", { class: "line", points: path(values), style: `stroke: var(--fl-${place + 1})` })));
    drawing.append(svg("line", { x1: x(steps[this.frame]), x2: x(steps[this.frame]), y1: top, y2: H - bottom, class: "now" }));
    drawing.append(svg("text", { x: left, y: H - 10 }, `${clock} ${steps[0]}`), svg("text", { x: W - right, y: H - 10, "text-anchor": "end" }, `${clock} ${steps[this.frames - 1]}`));
    $("energy").replaceChildren(drawing);
    $("energy-caption").textContent = `${relative ? "How far each unit has climbed: its energy at norm one, as a share of E*, the highest that a unit of its irrep can reach" : "The energy of each unit at norm one where the activation has no scale; its maximum is not known in closed form for this activation"}. Grey: the middle of all living units and the range of 80 % of them. Coloured: ${chosen.length === 1 ? "unit" : "units"} ${this.chosen.map((unit) => units[unit]).join(", ")}. Over the whole table.`;
  }

  drawOrders() {
    const { orders, frequencies, no_orders, crafted, irreps, alive, units } = this.data;
    const counts = orders ? orders[this.frame] : this.dominated();
    const labels = orders ? frequencies : irreps.slice(1);
    const W = 420, H = 200, left = 28, top = 14, bottom = 30;
    const most = Math.max(6, ...(orders ? orders.flat() : Array.from({ length: 1 }, () => Math.max(...counts))));
    const wide = (W - left) / Math.max(1, labels.length);
    const y = (value) => H - bottom - ((H - top - bottom) * value) / most;
    const drawing = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": orders ? "Hidden units per frequency" : "Living units per irrep" });
    for (const value of orders ? [0, 4, 6] : [0, most]) { drawing.append(svg("line", { x1: left, x2: W, y1: y(value), y2: y(value), class: "axis" }), svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, String(value))); }
    const every = Math.max(1, Math.ceil(26 / wide));
    counts.forEach((count, place) => {
      const at = left + place * wide;
      const series = orders ? BLOCKS[count] ?? 3 : 1;
      drawing.append(svg("rect", { x: (at + wide * 0.12).toFixed(1), width: (wide * 0.76).toFixed(1), y: y(count).toFixed(1), height: (y(0) - y(count)).toFixed(1), style: `fill: var(--fl-${series})` }));
      if (wide > 14) { drawing.append(svg("text", { x: (at + wide / 2).toFixed(1), y: (y(count) - 3).toFixed(1), "text-anchor": "middle" }, String(count))); }
      if (place % every === 0) { drawing.append(svg("text", { x: (at + wide / 2).toFixed(1), y: H - 12, "text-anchor": "middle" }, labels[place])); }
    });
    $("orders").replaceChildren(drawing);
    if (orders) {
      const four = counts.filter((count) => count === 4).length, six = counts.filter((count) => count === 6).length;
      $("orders-title").textContent = "Hidden units per frequency: 4, 6 or another number";
      $("orders-caption").textContent = `CoGO crafts a perfect network from blocks of 4 (blue) or 6 (orange) hidden units for each pair of frequencies; others are green. Now ${four} frequencies have 4, ${six} have 6, and ${counts.length - four - six} another number. At the end the blocks are ${summary(crafted)}.`;
    } else {
      $("orders-title").textContent = "Living units per irrep";
      $("orders-caption").textContent = `The number of living units (of ${Math.min(alive, units.length)}) whose strongest irrep this is. CoGO's census of blocks of 4 and 6 does not apply: ${no_orders}.`;
    }
  }

  dominated() {
    const counts = new Array(this.data.irreps.length).fill(0);
    for (let unit = 0; unit < this.data.alive; unit += 1) { counts[this.best(unit)] += 1; }
    return counts.slice(1);
  }

  // ---- tables

  fill(details) {
    if (!details.open || !this.data) { return; }
    const { units, irreps, blocks, elements, steps, clock, frequencies, crafted, orders, orbits } = this.data;
    const tables = {
      heat: () => [["unit", "size", ...irreps], units.map((number, unit) => [number, short(this.size(unit)), ...irreps.map((_, irrep) => percent(this.share(unit, irrep)))])],
      waves: () => [["element", ...this.chosen.flatMap((unit) => blocks.map((name) => `${units[unit]}, ${name}`))], Array.from({ length: elements }, (_, element) => [element, ...this.chosen.flatMap((unit) => blocks.map((_, block) => short(this.wave(unit, block)[element])))])],
      circles: () => [["element", ...["first", "second"].map((name) => `${irreps[this.irrep]}, ${name} direction`)], Array.from({ length: elements }, (_, element) => [element, ...this.point2(this.irrep, element).map((value) => short(value * this.data.point_sizes[this.irrep]))])],
      energy: () => { if (!this.energies) { return [["energy"], []]; } const { spread, chosen } = this.energyCurves(); return [[clock, "lowest tenth", "middle", "highest tenth", ...this.chosen.map((unit) => `unit ${units[unit]}`)], steps.map((step, frame) => [step, ...spread[frame].map(short), ...chosen.map((values) => short(values[frame]))])]; },
      orders: () => (orders ? [["frequency", "hidden units", "block at the end"], frequencies.map((label, place) => [label, orders[this.frame][place], crafted[place]])] : [["irrep", "living units", "orbit share"], irreps.slice(1).map((label, place) => [label, this.dominated()[place], short(orbits[this.frame][place + 1])])]),
    };
    const [head, rows] = tables[details.dataset.table]();
    const table = node("table");
    const top = node("thead"), first = node("tr"), body = node("tbody");
    first.append(...head.map((word) => node("th", { scope: "col" }, String(word))));
    top.append(first);
    body.append(...rows.map((row) => { const line = node("tr"); line.append(node("th", { scope: "row" }, String(row[0])), ...row.slice(1).map((value) => node("td", {}, String(value)))); return line; }));
    table.append(top, body);
    const box = details.querySelector("div");
    box.setAttribute("tabindex", "0");
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", `Numbers: ${details.closest("section").querySelector("h2").textContent}`);
    box.replaceChildren(rows.length ? table : node("p", { class: "hint" }, "There are no numbers for this run."));
  }
}

function summary(names) {
  const counts = new Map();
  for (const name of names) { counts.set(name, (counts.get(name) ?? 0) + 1); }
  return Array.from(counts, ([name, count]) => `${count} ${name}`).join(", ");
}
