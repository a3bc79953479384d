(function () {
  "use strict";
  var root = document.documentElement;

  var button = document.getElementById("theme");
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  function isDark() { return root.dataset.theme ? root.dataset.theme === "dark" : dark.matches; }
  function name() { button.textContent = isDark() ? "Light" : "Dark"; }
  try { root.dataset.theme = localStorage.getItem("firstlight-theme") || ""; } catch (error) { /* files may have no storage */ }
  if (!root.dataset.theme) { delete root.dataset.theme; }
  button.addEventListener("click", function () {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("firstlight-theme", root.dataset.theme); } catch (error) { /* as above */ }
    name();
  });
  dark.addEventListener("change", name);
  name();
  button.hidden = false;

  document.querySelectorAll("button.copy").forEach(function (copy) {
    if (!navigator.clipboard) { return; }
    copy.hidden = false;
    copy.addEventListener("click", function () {
      navigator.clipboard.writeText(copy.parentElement.querySelector("code").textContent).then(function () {
        copy.textContent = "Copied";
        setTimeout(function () { copy.textContent = "Copy"; }, 1500);
      });
    });
  });

  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (part) { part.open = true; });
  });

  var form = document.getElementById("filters");
  if (!form) { return; }
  var claims = Array.from(document.querySelectorAll("[data-paper][data-status]"));
  function apply() {
    var words = form.text.value.trim().toLowerCase();
    claims.forEach(function (claim) {
      var of = claim.dataset;
      claim.hidden = Boolean(
        (form.paper.value && of.paper !== form.paper.value) ||
        (form.status.value && of.status !== form.status.value) ||
        (form.surprise.checked && of.surprise !== "1") ||
        (words && !of.text.includes(words)));
    });
    var rows = document.querySelectorAll("table.claims tbody tr");
    var shown = document.querySelectorAll("table.claims tbody tr:not([hidden])").length;
    document.getElementById("count").textContent = shown + " of " + rows.length;
    document.getElementById("none").hidden = shown > 0;
    document.querySelectorAll("section.paper").forEach(function (paper) {
      paper.hidden = !paper.querySelector("article.claim:not([hidden])");
    });
  }
  form.addEventListener("input", apply);
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  document.querySelectorAll(".tile[href='#claims']").forEach(function (tile) {
    tile.addEventListener("click", function () {
      form.reset();
      form.status.value = tile.dataset.status || "";
      form.surprise.checked = tile.dataset.surprise === "1";
      apply();
    });
  });
  form.hidden = false;
  apply();
})();
