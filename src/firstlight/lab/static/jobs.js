// Jobs in lists: what they wait for, and buttons that stop, resume or remove them.

import { element, post } from "/static/lab.js";
import { showProblem } from "/static/setting.js";

export const ACTIVE = ["queued", "running", "paused"];
const ROOMS = { run: "Grok live", claim: "the claims court", staircase: "Staircase", fit: "Bench", probe: "Bench", sweep: "the phase atlas" };
const BUTTONS = { stop: ["Stop", ACTIVE], resume: ["Resume", ["stopped", "failed"]], remove: ["Remove", ["stopped", "failed", "finished"]] };

// Return the job that has the worker which this job waits for, or null. Sweeps have a worker of their own.
export function ahead(job, jobs) {
  const isSweep = (other) => other.kind === "sweep";
  if (job?.state !== "queued") { return null; }
  return jobs.find((other) => other.id !== job.id && isSweep(other) === isSweep(job) && ["running", "paused"].includes(other.state)) ?? null;
}

export function waiting(job, jobs) {
  const other = ahead(job, jobs);
  return other ? `waits for “${other.title}”, which ${other.state === "paused" ? "is paused" : "runs"} in ${ROOMS[other.kind] ?? "another room"}` : "waiting for the worker";
}

// Return the jobs that a list shows: those that `fits` chooses, and the ones that they wait for.
export function listed(jobs, fits) {
  const own = jobs.filter(fits);
  const others = new Set(own.map((job) => ahead(job, jobs)).filter((job) => job && !own.includes(job)));
  return [...others, ...own];
}

// Pause, resume, stop or remove a job; a refusal is said beside the setting.
export async function control(id, action) {
  const answer = await post("/api/jobs", { id, action });
  showProblem("", answer.ok ? "" : answer.error);
  return answer;
}

// Show jobs in a list; `look` may give the words of a job, its buttons, and whether its message is shown. Lines and
// buttons that stay are the same elements: a list that changes ten times a second must not take the focus from a
// button, nor a click whose pointer is still down.
export function showJobs(list, jobs, look = () => ({}), empty = []) {
  const known = new Map(Array.from(list.children, (line) => [line.dataset.job, line]));
  const lines = jobs.map((job) => fill(known.get(job.id) ?? element("li", "", { "data-job": job.id }), job, look(job)));
  arrange(list, lines.length ? lines : empty);
}

function fill(line, job, { words = job.title, actions = ["stop", "resume", "remove"], isTold = Boolean(job.message) }) {
  const part = (name, tag, text) => {
    const made = line.querySelector(`:scope > [data-part="${name}"]`) ?? element(tag, "", { "data-part": name });
    if (made.textContent !== text) { made.textContent = text; }
    return made;
  };
  const badge = part("state", "span", job.state);
  badge.className = `badge ${job.state}`;
  const parts = [part("words", "span", words), badge];
  if (isTold) { parts.push(part("told", "span", job.message)); parts.at(-1).className = "hint"; }
  for (const action of actions.filter((name) => BUTTONS[name][1].includes(job.state))) {
    const button = part(action, "button", BUTTONS[action][0]);
    if (!button.onclick) { button.type = "button"; button.onclick = () => control(job.id, action); }
    button.setAttribute("aria-label", `${BUTTONS[action][0]}: ${job.title}`);
    parts.push(button);
  }
  arrange(line, parts);
  return line;
}

// Make these elements the children of a parent. What stands in its place is not moved, since moving ends the focus.
function arrange(parent, wanted) {
  for (const child of Array.from(parent.children)) { if (!wanted.includes(child)) { child.remove(); } }
  wanted.forEach((child, place) => { if (parent.children[place] !== child) { parent.insertBefore(child, parent.children[place] ?? null); } });
}
