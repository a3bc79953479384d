// A setting: its problems beside its controls, and its question to the lab, asked again whenever a control has moved.

import { $, all } from "/static/lab.js";

const SILENCE = "The lab does not answer. Is it still running?";

// Show each problem beside its control. `stands` maps a name to the visible control, where the named one is hidden.
export function showProblems(problems, stands = {}) {
  const form = $("#setting");
  for (const line of all("[data-problem]")) {
    const name = line.dataset.problem;
    const message = problems[name];
    line.hidden = !message;
    line.textContent = message ?? "";
    line.closest(".knob")?.classList.toggle("wrong", Boolean(message));
    const control = stands[name] ?? (name ? form.elements[name] : null);
    if (control?.setAttribute) { message ? control.setAttribute("aria-invalid", "true") : control.removeAttribute("aria-invalid"); }
  }
}

// Return the problems of an answer that was refused.
export function problemsOf(answer, field = "", words = "The lab refused the request.") {
  return answer.problems ?? { [field]: answer.error ?? words };
}

// Read an answer of the lab; `ok` says whether it is one.
export async function read(path) {
  try {
    const response = await fetch(path);
    return { ...(await response.json()), ok: response.ok };
  } catch { return { ok: false, error: SILENCE }; }
}

// A question that follows a form. It is asked a moment after the last change, and an answer that a newer question has
// overtaken is dropped. `answered` may return a number of milliseconds after which to ask once more.
export class Question {
  constructor({ path, query, answered, line = null, stands = {}, pause = 120 }) {
    Object.assign(this, { path, query, answered, line, stands, pause, number: 0, timer: null });
  }

  changed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), this.pause);
  }

  say(words) { if (this.line) { this.line.textContent = words; } }

  async ask() {
    const number = ++this.number;
    const slow = setTimeout(() => this.say("computing …"), 150);
    const answer = await read(`${this.path}?${this.query()}`);
    clearTimeout(slow);
    if (number !== this.number) { return; }
    showProblems(answer.ok ? {} : problemsOf(answer), this.stands);
    if (!answer.ok) { this.say("not computed: see the message beside the setting"); }
    const again = await this.answered(answer);
    if (again) { setTimeout(() => { if (number === this.number) { this.ask(); } }, again); }
  }
}
