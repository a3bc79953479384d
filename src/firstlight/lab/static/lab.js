// What every room needs: the theme button, requests with the token, the stream of events of this tab.

let token = document.querySelector('meta[name="firstlight-token"]')?.content ?? "";

export const $ = (selector, root = document) => root.querySelector(selector);
export const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));

export function element(tag, text = "", attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) { made.setAttribute(name, value); }
  return made;
}

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export const SILENCE = "The lab does not answer. Is it still running?";

// A server that was started again has another token: fetch it once and repeat the request.
export async function post(path, values, again = true) {
  const options = { method: "POST", headers: { "content-type": "application/json", "x-firstlight-token": token }, body: JSON.stringify(values) };
  const answer = await ask(path, options);
  if (answer.status === 403 && again) {
    token = (await ask("/token")).text ?? token;
    return post(path, values, false);
  }
  const body = parsed(answer);
  return { ...body, body };
}

// Read an answer of the lab; `ok` says whether it is one, and `silent` whether there was none.
export async function read(path) { return parsed(await ask(path)); }

// Return the text of an answer of the lab, such as a part of a page.
export async function ask(path, options = {}) {
  try {
    const response = await fetch(path, options);
    return { ok: response.ok, status: response.status, text: await response.text() };
  } catch { return { ok: false, status: 0, silent: true, error: SILENCE }; }
}

// Return the words of an answer that is none.
export function refusal(answer) { return answer.error ?? parsed(answer).error ?? SILENCE; }

function parsed({ text, status, ...answer }) {
  if (text === undefined) { return answer; }
  let body;
  try { body = JSON.parse(text); } catch { body = { error: text.slice(0, 400) }; }
  return { ...body, ok: answer.ok };
}

// Return a function that awaits an answer, and undefined instead if it was called again since: of several answers to
// one place of the page only that to the newest question may be shown.
export function newest() {
  let number = 0;
  return async (answer) => {
    const own = ++number;
    const value = await answer;
    return own === number ? value : undefined;
  };
}

// A reader who looks on hears of a lab that is gone; a short interruption is not worth words.
let silence = null;
function tell(connection) {
  document.body.dataset.connection = connection;
  if (connection === "open") { clearTimeout(silence); silence = null; $("#lost").hidden = true; }
  else { silence ??= setTimeout(() => { $("#lost").hidden = false; }, 1500); } // each failed try to reconnect comes here
}

// One stream per tab. A hidden tab closes its stream, since browsers allow six connections to a server.
export class Stream {
  constructor(handlers) {
    this.handlers = handlers;
    this.run = "";
    this.next = 0;
    document.addEventListener("visibilitychange", () => { document.hidden ? this.close() : this.open(); });
    window.addEventListener("pagehide", () => this.close());
    window.addEventListener("pageshow", (event) => { if (event.persisted) { this.open(); } });
  }

  show(run, next = 0) {
    this.run = run;
    this.next = next;
    this.open();
  }

  open() {
    this.close();
    if (document.hidden) { return; }
    const source = new EventSource(`/events?run=${encodeURIComponent(this.run)}&from=${this.next}`);
    this.source = source;
    for (const name of ["jobs", "rows", "status"]) {
      source.addEventListener(name, (event) => {
        if (source !== this.source) { return; }
        if (name === "rows") {
          // After a reconnection the browser sends the id of the last event; a repeated row would have a lower number.
          const id = Number(event.lastEventId);
          if (id <= this.next) { return; }
          this.next = id;
        }
        this.handlers[name]?.(JSON.parse(event.data));
      });
    }
    source.onerror = () => {
      if (source !== this.source) { return; }
      tell("lost");
      // A browser reconnects by itself, except after an answer that is no stream.
      if (source.readyState === 2) { setTimeout(() => { if (source === this.source) { this.open(); } }, 1000); }
    };
    source.onopen = () => { if (source === this.source) { tell("open"); } };
  }

  close() {
    this.source?.close();
    this.source = null;
  }
}

// Keep the state of the page in its address. Browsers refuse to change it some hundred times in half a minute.
export function keepInAddress(query) {
  if (query === location.search.slice(1)) { return; }
  try { history.replaceState(null, "", query ? `?${query}` : location.pathname); } catch { /* the next change keeps it */ }
}

const themeListeners = [];
export function onTheme(listener) { themeListeners.push(listener); }

function setUpTheme() {
  const button = $("#theme");
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const show = () => { button.textContent = isDark() ? "Light" : "Dark"; themeListeners.forEach((listener) => listener()); };
  try { const stored = localStorage.getItem("firstlight-theme"); if (stored === "dark" || stored === "light") { root.dataset.theme = stored; } } catch { /* private mode */ }
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("firstlight-theme", root.dataset.theme); } catch { /* private mode */ }
    show();
  });
  dark.addEventListener("change", show);
  show();
}
setUpTheme();

export function download(name, text) {
  const link = element("a", "", { href: URL.createObjectURL(new Blob([text], { type: "text/html" })), download: name });
  link.click();
}
