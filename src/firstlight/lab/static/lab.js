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

// A server that was started again has another token: fetch it once and repeat the request.
export async function post(path, values, again = true) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-firstlight-token": token },
    body: JSON.stringify(values),
  });
  if (answer.status === 403 && again) {
    token = await (await fetch("/token")).text();
    return post(path, values, false);
  }
  const text = await answer.text();
  let body;
  try { body = JSON.parse(text); } catch { body = { error: text }; }
  return { ok: answer.ok, status: answer.status, ...body, body };
}

// One stream per tab. A hidden tab closes its stream, since browsers allow six connections to a server.
export class Stream {
  constructor(handlers) {
    this.handlers = handlers;
    this.run = "";
    this.next = 0;
    document.addEventListener("visibilitychange", () => { document.hidden ? this.close() : this.open(); });
    window.addEventListener("pagehide", () => this.close());
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
    source.onerror = () => { document.body.dataset.connection = "lost"; if (source.readyState === 2) { setTimeout(() => this.open(), 1000); } };
    source.onopen = () => { document.body.dataset.connection = "open"; };
  }

  close() {
    this.source?.close();
    this.source = null;
  }
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
