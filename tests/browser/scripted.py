"""A page whose answers and news are played by the test: any order of events, whatever the speed of the machine."""

import contextlib
import json

STAGE = """
window.tab = { rules: RULES, sources: [], held: [], asked: [] };
const real = window.fetch.bind(window);
const type = { "content-type": "application/json" };
window.fetch = (path, options = {}) => {
  const url = String(path), method = options.method ?? "GET";
  tab.asked.push(`${method} ${url} ${options.body ?? ""}`);
  const rule = tab.rules.findLast((one) => new RegExp(one.path).test(`${method} ${url}`));
  if (!rule) { return real(path, options); }
  const text = typeof rule.answer === "string" ? rule.answer : JSON.stringify(rule.answer);
  const answer = () => new Response(text, { status: rule.status ?? 200, headers: type });
  return new Promise((resolve, reject) => {
    if (rule.how === "lost") { reject(new TypeError("Failed to fetch")); }
    else if (rule.how === "held") { tab.held.push({ url, resolve: () => resolve(answer()) }); }
    else { resolve(answer()); }
  });
};
window.EventSource = class {
  constructor(url) {
    Object.assign(this, { url, readyState: 1, listeners: {} });
    tab.sources.push(this);
    setTimeout(() => this.onopen?.());
  }
  addEventListener(name, heard) { (this.listeners[name] ??= []).push(heard); }
  close() { this.readyState = 2; }
};
tab.send = (name, data, id) => {
  const source = tab.sources.findLast((one) => one.readyState === 1);
  const event = { data: JSON.stringify(data), lastEventId: String(id ?? "") };
  for (const heard of source.listeners[name] ?? []) { heard(event); }
};
tab.release = (path) => {
  const at = tab.held.findIndex((one) => new RegExp(path).test(one.url));
  tab.held.splice(at, 1)[0].resolve();
};
"""


class Script:
    """The part that the test plays in a page."""

    def __init__(self, page):
        self._page = page

    def answer(self, path, answer=None, how="", status=200):
        """Answer requests whose method and address match from now on; `how` is '', 'held' or 'lost'."""
        rule = {"path": path, "answer": answer, "how": how, "status": status}
        self._page.js("tab.rules.push(arguments[0])", rule)

    def asked(self, path):
        """Return the requests so far whose method and address match."""
        return self._page.js("return tab.asked.filter((line) => new RegExp(arguments[0]).test(line))", path)

    def held(self, path):
        """Wait until a request is held back."""
        self._page.until(f"tab.held.some((one) => new RegExp({json.dumps(path)}).test(one.url))")

    def release(self, path):
        """Answer the oldest request that is held back, and let the page hear it."""
        self._page.js("tab.release(arguments[0])", path)
        self.settle()

    def send(self, name, data, id=None):
        """Send an event of the stream."""
        self._page.js("tab.send(...arguments)", name, data, id)
        self.settle()

    def jobs(self, *jobs):
        """Send the list of jobs."""
        self.send("jobs", jobs)

    def settle(self):
        """Let every promise that can be resolved run."""
        self._page.driver.execute_async_script("setTimeout(arguments[arguments.length - 1], 30)")


@contextlib.contextmanager
def played(page, url, rules):
    """Open an address; the rules, (path, answer) or (path, answer, how), hold from its first request on."""
    first = [{"path": rule[0], "answer": rule[1], "how": rule[2] if len(rule) > 2 else ""} for rule in rules]
    source = "{" + STAGE.replace("RULES", json.dumps(first)) + "}"
    added = page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source})
    try:
        page.open(url).ready()
        yield Script(page)
    finally:
        page.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
        page.open("about:blank")


def job(id, state="running", kind="run", **values):
    """Return a job as the lab reports it."""
    known = {"id": id, "kind": kind, "title": f"job {id}", "state": state, "done": 0, "total": 10, "message": "",
             "notes": {}, "turn": "first"}  # fmt: skip
    return known | values
