// Charts by BokehJS: loaded as JSON, painted in the colours of the page, fed with columns.

import { colour, onTheme, element } from "/static/lab.js";

const charts = new Map();

export async function loadChart(target) {
  const name = target.dataset.chart;
  const item = await (await fetch(`/api/charts/${name}`)).json();
  await ready();
  Bokeh.set_log_level("error"); // an empty chart has no range yet, and says so at every change
  await Bokeh.embed.embed_item(item, target);
  const doc = Bokeh.documents[Bokeh.documents.length - 1];
  const chart = new Chart(name, doc, target);
  charts.set(name, chart);
  chart.paint();
  return chart;
}

function ready() {
  return new Promise((resolve) => {
    const look = () => (window.Bokeh ? resolve() : setTimeout(look, 20));
    look();
  });
}

class Chart {
  constructor(name, doc, target) {
    this.name = name;
    this.doc = doc;
    this.target = target;
    this.columns = {};
    const details = document.querySelector(`details[data-table="${name}"]`);
    this.details = details;
    details?.addEventListener("toggle", () => this.fillTable());
  }

  model(name) { return this.doc.get_model_by_name(name); }

  get plot() { return this.doc.roots()[0]; }

  // Replace the columns of a source; missing columns become gaps.
  put(source, columns) {
    const model = this.model(source);
    const names = Object.keys(model.data);
    const length = Math.max(0, ...names.map((name) => columns[name]?.length ?? 0));
    const gaps = new Array(length).fill(NaN);
    const data = {};
    for (const name of names) { data[name] = (columns[name] ?? gaps).map((value) => value ?? NaN); }
    model.data = data;
    if (source !== "before" && source !== "point") { this.columns = data; this.fillTable(); }
  }

  append(source, columns) {
    const model = this.model(source);
    const data = {};
    for (const name of Object.keys(model.data)) {
      data[name] = (columns[name] ?? new Array(columns.step.length).fill(NaN)).map((value) => value ?? NaN);
    }
    model.stream(data);
    this.columns = model.data;
    if (this.details?.open) { this.fillTable(); }
  }

  band(name, from, to) {
    const box = this.model(name);
    if (!box) { return; }
    box.visible = from !== null;
    if (from !== null) { box.left = from; box.right = to; }
  }

  span(name, at) {
    const line = this.model(name);
    if (!line) { return; }
    line.visible = at !== null;
    if (at !== null) { line.location = at; }
  }

  paint() {
    const [ink, muted, grid, paper] = ["ink", "muted", "grid", "paper"].map((name) => colour(`--fl-${name}`));
    const series = [1, 2, 3, 4, 5].map((number) => colour(`--fl-${number}`));
    const plot = this.plot;
    plot.background_fill_color = paper;
    plot.border_fill_color = paper;
    plot.outline_line_color = grid;
    for (const axis of [...plot.below, ...plot.left].filter((part) => part.axis_label_text_color !== undefined)) {
      axis.axis_label_text_color = muted;
      axis.axis_label_text_font_style = "normal";
      axis.major_label_text_color = muted;
      axis.axis_line_color = grid;
      axis.major_tick_line_color = grid;
      axis.minor_tick_line_color = null;
    }
    for (const lines of plot.center.filter((part) => part.grid_line_color !== undefined)) { lines.grid_line_color = grid; }
    for (const renderer of plot.renderers) {
      const number = /^series-(\d)/.exec(renderer.name ?? "");
      const glyph = renderer.glyph;
      if (number) { glyph.line_color = { value: series[number[1] - 1] }; }
      else if (renderer.name === "band") { glyph.fill_color = { value: series[0] }; }
      else if (renderer.name === "boundary-line") { glyph.line_color = { value: series[0] }; }
      else if (renderer.name === "chosen") { glyph.fill_color = { value: series[1] }; glyph.line_color = { value: paper }; }
    }
    const legend = this.model("legend");
    if (legend) { legend.background_fill_color = paper; legend.border_line_color = null; legend.label_text_color = ink; legend.label_text_font_size = "12px"; legend.padding = 2; legend.spacing = 12; }
    for (let place = 0; place < 4; place += 1) {
      const box = this.model(`stage-${place}`);
      if (box) { box.fill_color = series[[4, 2, 3, 0][place]]; }
      const label = this.model(`stage-label-${place}`);
      if (label) { label.text_color = muted; }
    }
    const forecast = this.model("forecast");
    if (forecast) { forecast.fill_color = series[1]; forecast.line_color = series[1]; }
    const memorise = this.model("forecast-memorise");
    if (memorise) { memorise.fill_color = series[0]; memorise.line_color = series[0]; }
    const middle = this.model("forecast-middle");
    if (middle) { middle.line_color = series[1]; }
  }

  fillTable() {
    if (!this.details?.open) { return; }
    const names = Object.keys(this.columns);
    const count = this.columns[names[0]]?.length ?? 0;
    const table = element("table");
    const head = element("tr");
    for (const name of names) { head.append(element("th", words(name), { scope: "col" })); }
    const top = element("thead");
    top.append(head);
    table.append(top);
    const body = element("tbody");
    const stride = Math.max(1, Math.ceil(count / 200));
    for (let place = 0; place < count; place += stride) {
      const row = element("tr");
      for (const name of names) { row.append(element("td", number(this.columns[name][place]))); }
      body.append(row);
    }
    table.append(body);
    const box = this.details.querySelector("div");
    box.setAttribute("tabindex", "0");
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", `Numbers: ${this.target.getAttribute("aria-label")}`);
    box.replaceChildren(count ? table : element("p", "No numbers yet.", { class: "hint" }));
  }
}

function words(name) {
  return { step: "epoch", "li2.purity": "purity", "fact.W.fact": "FACT, first layer", order: "order M" }[name] ?? name.replaceAll("_", " ");
}

export function number(value) {
  if (value === null || value === undefined || Number.isNaN(value)) { return "–"; }
  return Number.isInteger(value) ? String(value) : Number(value).toPrecision(4);
}

onTheme(() => charts.forEach((chart) => chart.paint()));
