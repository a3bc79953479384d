// Jobs in lists: what they wait for, and buttons that stop, resume or remove them.

import { element, post } from "/static/lab.js";

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

export function item(job, { words = job.title, actions = ["stop", "resume", "remove"], isTold = Boolean(job.message) } = {}) {
  const line = element("li");
  line.append(element("span", words), element("span", job.state, { class: `badge ${job.state}` }));
  if (isTold) { line.append(element("span", job.message, { class: "hint" })); }
  for (const action of actions) {
    const [label, fits] = BUTTONS[action];
    if (fits.includes(job.state)) {
      const button = element("button", label, { type: "button", "aria-label": `${label}: ${job.title}` });
      button.addEventListener("click", () => post("/api/jobs", { id: job.id, action }));
      line.append(button);
    }
  }
  return line;
}
