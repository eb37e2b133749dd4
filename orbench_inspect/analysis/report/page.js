"use strict";
// Text of models and logs is only ever set as textContent: it cannot become markup.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const settings = read("settings");
  const byId = (id) => document.getElementById(id);

  function element(tag, properties = {}, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }

  // ---- figures: drawn one after another, so that the page answers in between
  async function drawFigures() {
    const specs = read("specs");
    for (const place of document.querySelectorAll("[data-figure]")) {
      await new Promise((done) => setTimeout(done));
      await vegaEmbed(place, specs[place.dataset.figure], {
        mode: "vega-lite", renderer: "svg", ast: true, actions: false, tooltip: { theme: "custom" },
      });
    }
  }

  // ---- prompts
  const MARKS = { direct_answer: "○", direct_refusal: "■", indirect_refusal: "◪", provider_refusal: "▣" };
  const REFUSED = new Set(["direct_refusal", "indirect_refusal", "provider_refusal"]);
  const PAGE = 50;
  // Characters that steer a terminal or turn the direction of text are named instead.
  const STEERING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
  const MARKS_OF_DIRECTION = /[\u200e\u200f]/g;
  const named = (c) => "⟨U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0") + "⟩";
  // In a text by itself, which is isolated, the marks that Hebrew and Arabic are written with do no harm.
  const prose = (text) => text.replace(/\r\n?/g, "\n").replace(STEERING, named);
  const visible = (text) => prose(text).replace(MARKS_OF_DIRECTION, named);

  let table, names, found = [], page = 0;

  async function unpack() {
    const bytes = Uint8Array.from(atob(byId("packed").textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).json();
  }

  const word = (number) => table.words[number];
  const answered = (outcome) => outcome === "direct_answer";
  const several = () => new Set(table.runs.map((run) => run.group)).size > 1;
  const armOf = (run) => several() ? run.group + " · " + run.arm : run.arm;

  function options(id, values, first) {
    const select = byId(id);
    if (first) select.append(element("option", { value: "", textContent: first }));
    for (const value of values) select.append(element("option", { value, textContent: visible(value) }));
  }

  function prepare() {
    names = table.runs.map(armOf);
    const arms = [...new Set(names)];
    const used = (at) => [...new Set(table.prompts.map((prompt) => word(prompt[at])))];
    options("set", used(0), "all");
    options("category", used(1), "all");
    const outcomes = new Set(table.prompts.flatMap((prompt) => prompt[4].map((cell) => word(cell[1]))));
    options("outcome", ["refused", "answered", "unscored"], "all");
    for (const outcome of outcomes) if (outcome !== "direct_answer")
      byId("outcome").append(element("option", { value: outcome, textContent: outcome }));
    options("left", arms);
    const baseline = table.runs.find((run) => run.arm === settings.baseline);
    byId("left").value = baseline ? armOf(baseline) : arms[0];
    options("right", arms, arms.length > 1 ? "all others" : "none");
    for (const label of ["○ answered", "■ refused", "◪ indirect refusal", "▣ provider refusal", "· unscored"])
      byId("legend").append(element("span", { textContent: label }));
  }

  // The cells of a prompt that are looked at: those of the left arm, then those of the right one,
  // or of all others that are compared with the left one.
  function shownCells(prompt) {
    const left = byId("left").value, right = byId("right").value;
    const group = table.runs[names.indexOf(left)].group;
    const beside = (run) => (right === "" ? table.runs[run].group === group : names[run] === right);
    return [
      prompt[4].filter(([run]) => names[run] === left),
      prompt[4].filter(([run]) => names[run] !== left && beside(run)),
    ];
  }

  const scored = (outcome) => answered(outcome) || REFUSED.has(outcome);

  function flips([left, right]) {
    const refused = (cells) => new Set(cells.map((cell) => word(cell[1])).filter(scored)
      .map((outcome) => REFUSED.has(outcome)));
    const there = refused(left);
    return [...refused(right)].some((value) => there.has(!value));
  }

  function hasOutcome(cells, wanted) {
    return cells.some((cell) => {
      const outcome = word(cell[1]);
      if (wanted === "refused") return REFUSED.has(outcome);
      if (wanted === "answered") return answered(outcome);
      if (wanted === "unscored") return !scored(outcome);
      return outcome === wanted;
    });
  }

  function matches(prompt, asked) {
    if (asked.set && word(prompt[0]) !== asked.set) return false;
    if (asked.category && word(prompt[1]) !== asked.category) return false;
    const shown = shownCells(prompt);
    if (asked.flipped && !flips(shown)) return false;
    if (asked.outcome && !hasOutcome(shown.flat(), asked.outcome)) return false;
    if (!asked.search) return true;
    const text = (value) => value !== undefined && value.toLowerCase().includes(asked.search);
    return text(prompt[3]) || text(prompt[2])
      || shown.flat().some((cell) => cell.length > 5 && text(table.said[cell[5]]));
  }

  function filter() {
    const value = (id) => byId(id).value;
    const asked = {
      set: value("set"), category: value("category"), outcome: value("outcome"),
      search: value("search").trim().toLowerCase(), flipped: byId("flipped").checked,
    };
    found = table.prompts.filter((prompt) => matches(prompt, asked));
    page = 0;
    show();
  }

  function show() {
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    const from = page * PAGE;
    byId("list").replaceChildren(...found.slice(from, from + PAGE).map(row));
    byId("count").textContent = found.length.toLocaleString("en") + " of "
      + table.prompts.length.toLocaleString("en") + " prompts";
    byId("where").textContent = "page " + (page + 1) + " of " + pages;
    byId("previous").disabled = page === 0;
    byId("next").disabled = page >= pages - 1;
  }

  function mark(cell) {
    const outcome = word(cell[1]);
    return element("span", {
      className: MARKS[outcome] ? outcome : "unscored", textContent: MARKS[outcome] || "·",
      title: visible(names[cell[0]] + ": " + outcome),
    });
  }

  function row(prompt) {
    const [left, right] = shownCells(prompt);
    const marks = element("span", { className: "tally" }, ...left.map(mark), " ", ...right.map(mark));
    marks.setAttribute("aria-hidden", "true");
    const button = element("button", { type: "button", className: "row" },
      element("span", { className: "asked", dir: "auto", textContent: prose(prompt[3]) }), marks,
      element("span", { className: "tags", textContent: visible(word(prompt[0]) + " · " + word(prompt[1]) + " · " + prompt[2])
        + (flips([left, right]) ? " · flipped" : "") }));
    button.setAttribute("aria-expanded", "false");
    const item = element("li", {}, button);
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") === "true";
      button.setAttribute("aria-expanded", String(!open));
      if (open) item.lastChild.remove();
      else {
        const cells = element("div", { className: "cells", tabIndex: 0 }, ...left.map((c) => cellOf(prompt, c)), ...right.map((c) => cellOf(prompt, c)));
        cells.setAttribute("role", "region");
        cells.setAttribute("aria-label", "Responses");
        item.append(cells);
      }
    });
    return item;
  }

  function cellOf(prompt, cell) {
    const outcome = word(cell[1]), flags = word(cell[2]);
    const head = element("h4", {}, mark(cell), " ", visible(names[cell[0]]), element("span", {
      className: "quiet", textContent: " " + visible(outcome) + (flags ? " (" + visible(flags) + ")" : "") + (cell[3] > 1 ? ", epoch " + cell[3] : ""),
    }));
    const made = element("div", { className: "cell" }, head);
    if (cell.length > 5) {
      const text = table.said[cell[5]];
      made.append(element("p", { className: "said", dir: "auto", textContent: text ? prose(text) : "(no text)" }));
      if (cell[7]) made.append(element("p", { className: "why", textContent: "… " + cell[7].toLocaleString("en") + " more characters in the log" }));
      if (table.said[cell[6]]) made.append(element("p", { className: "why", dir: "auto", textContent: prose(table.said[cell[6]]) }));
    }
    if (settings.viewer) made.append(element("a", {
      className: "why", textContent: "in the viewer",
      href: "viewer/index.html#/logs/" + [word(cell[4]), "samples", "sample", prompt[2], cell[3]].map(encodeURIComponent).join("/"),
    }));
    return made;
  }

  function turn(by) {
    page += by;
    show();
    byId("count").scrollIntoView();
    byId("list").querySelector("button")?.focus();
  }

  async function start() {
    try {
      table = await unpack();
    } catch (problem) {
      byId("count").textContent = "The prompts could not be unpacked: this browser is too old, or the page is damaged.";
      return;
    }
    prepare();
    let waiting;
    byId("search").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 150); });
    // The search field says so when it is left: a list made anew under a click would swallow it.
    byId("filters").addEventListener("change", (event) => { if (event.target.id !== "search") filter(); });
    byId("filters").addEventListener("submit", (event) => { event.preventDefault(); filter(); });
    byId("previous").addEventListener("click", () => turn(-1));
    byId("next").addEventListener("click", () => turn(1));
    filter();
    document.documentElement.dataset.ready = "prompts";
  }

  start().then(drawFigures).then(() => { document.documentElement.dataset.ready = "all"; });
})();
