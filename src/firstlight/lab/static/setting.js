// A setting: its problems beside its controls, and its question to the lab, asked again whenever a control has moved.

import { $, all, read } from "/static/lab.js";

const AGAIN = 2000; // milliseconds until a question is repeated that the lab did not answer

// Show each problem beside its control. `stands` maps a name to the visible control, where the named one is hidden.
export function showProblems(problems, stands = {}) {
  for (const line of all("[data-problem]")) { showIn(line, problems[line.dataset.problem], stands); }
}

// Show or end the one problem of a name; the others stay.
export function showProblem(name, message, stands = {}) {
  const line = all("[data-problem]").find((place) => place.dataset.problem === name);
  if (line) { showIn(line, message, stands); }
}

function showIn(line, message, stands) {
  const name = line.dataset.problem;
  line.hidden = !message;
  if (line.textContent !== (message ?? "")) { line.textContent = message ?? ""; }
  line.closest(".knob")?.classList.toggle("wrong", Boolean(message));
  const control = stands[name] ?? (name ? $("#setting").elements[name] : null);
  if (control?.setAttribute) { message ? control.setAttribute("aria-invalid", "true") : control.removeAttribute("aria-invalid"); }
}

// Return the problems of an answer that was refused.
export function problemsOf(answer, field = "", words = "The lab refused the request.") {
  return answer.problems ?? { [field]: answer.error ?? words };
}

// A question that follows a form. It is asked a moment after the last change, and an answer that a newer question has
// overtaken is dropped. `answered` may return a number of milliseconds after which to ask once more.
export class Question {
  constructor({ path, query, answered, line = null, stands = {}, pause = 120 }) {
    Object.assign(this, { path, query, answered, line, stands, pause, number: 0, timer: null });
  }

  changed() {
    this.number += 1; // an answer that is still on its way belongs to the form as it was
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
    const wanted = await this.answered(answer);
    const again = answer.silent ? AGAIN : wanted;
    if (again) { setTimeout(() => { if (number === this.number) { this.ask(); } }, again); }
  }
}
