// SPDX-License-Identifier: MIT
// What all pages have: the document, values as people read them, elements, light and dark.
"use strict";
const byId = id => document.getElementById(id);
const pageDocument = JSON.parse(byId("document").textContent);

const SCALES = {
  ps: [[1, "ps"], [1e3, "ns"], [1e6, "µs"], [1e9, "ms"], [1e12, "s"]],
  B: [[1, "B"], [1024, "KiB"], [1 << 20, "MiB"], [1 << 30, "GiB"]],
  "b/s": [[1, "b/s"], [1e6, "Mb/s"], [1e9, "Gb/s"], [1e12, "Tb/s"]],
  "1/s": [[1, "/s"], [1e3, "k/s"], [1e6, "M/s"], [1e9, "G/s"]],
  cycles: [[1, "cycles"]], ratio: [[1, ""]], count: [[1, ""], [1e3, "k"], [1e6, "M"]],
};
function scaleFor(value, unit) {
  const scales = SCALES[unit] || [[1, unit]];
  return scales.filter(s => Math.abs(value) >= s[0]).pop() || scales[0];
}
const digits = value => String(Number(value.toPrecision(4)));
function valueText(value, unit) {
  const [size, name] = scaleFor(value, unit);
  return digits(value / size) + (name ? " " + name : "");
}

function add(parent, name, attributes, content) {
  const svg = parent.namespaceURI === "http://www.w3.org/2000/svg" || name === "svg";
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name)
                   : document.createElement(name);
  for (const key in attributes || {}) made.setAttribute(key, attributes[key]);
  if (content !== undefined) made.textContent = content;
  parent.appendChild(made);
  return made;
}

const themeWatchers = [];
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  const words = { light: "Light", dark: "Dark", ...pageDocument.words };
  byId("theme").textContent = theme === "dark" ? words.light : words.dark;
  for (const watcher of themeWatchers) watcher();
}
byId("theme").onclick = () =>
    setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

// --- Charts, of pages that have Chart.js --------------------------------------------------------
const COLOURS = {
  light: ["#2563c9", "#c8620a", "#1d7f45", "#8b3fc4", "#b3245f", "#0f7d8c", "#7a6a16", "#5d6878",
          "#4a8fe0", "#e0964a", "#57b37c", "#c49be6"],
  dark: ["#79aaff", "#f5a455", "#5cc98a", "#c793f2", "#f28bb2", "#5bcbdb", "#d3c25a", "#97a3b4",
         "#a9c8ff", "#ffc994", "#a5e6c2", "#7f5fa8"],
};
const styleOf = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colour = i => {
  const all = COLOURS[document.documentElement.dataset.theme];
  return all[i % all.length];
};

const drawn = new Map();  // canvas -> how to make its chart
const charts = new Map();
const ranges = new Map();  // canvas -> the part of the x axis that it was zoomed to

/// Draws what `drawn` has for the canvas, all of it. A drag over the chart then shows that range of
/// the x axis, a double click all of it again; the canvas needs a parent that is placed (.canvas).
function draw(canvas) {
  if (!charts.has(canvas)) zoomByDrag(canvas);
  ranges.delete(canvas);
  redraw(canvas);
}

/// The canvas goes.
function forget(canvas) {
  charts.get(canvas).destroy();
  for (const map of [charts, drawn, ranges]) map.delete(canvas);
}

function redraw(canvas) {
  if (charts.has(canvas)) charts.get(canvas).destroy();
  Chart.defaults.color = styleOf("--soft");
  Chart.defaults.borderColor = styleOf("--line");
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  const config = drawn.get(canvas)();
  Object.assign(config.options.scales.x, ranges.get(canvas));
  charts.set(canvas, new Chart(canvas, config));
}
themeWatchers.push(() => { for (const canvas of drawn.keys()) redraw(canvas); });

const LEAST_DRAG = 5;  // pixels, or it is a click

function zoomByDrag(canvas) {
  let begin = null, range = null;
  const placeOf = event => {
    const { left, right } = charts.get(canvas).chartArea;
    return Math.min(Math.max(event.clientX - canvas.getBoundingClientRect().left, left), right);
  };
  const valueAt = place => {
    const axis = charts.get(canvas).scales.x;
    const value = axis.getValueForPixel(place);
    return axis.type === "category" ? axis.getLabels()[value] : value;
  };
  const put = place => {
    const { top, height } = charts.get(canvas).chartArea;
    range.style.cssText = `left: ${Math.min(begin, place)}px; width: ${Math.abs(place - begin)}px; ` +
                          `top: ${top}px; height: ${height}px`;
  };
  const finish = () => {
    if (range) range.remove();
    begin = range = null;
  };
  canvas.addEventListener("pointerdown", event => {
    if (event.button !== 0) return;
    begin = placeOf(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", event => {
    if (begin === null) return;
    range = range || add(canvas.parentElement, "div", { class: "range" });
    put(placeOf(event));
  });
  canvas.addEventListener("pointerup", event => {
    if (begin === null) return;
    const ends = [begin, placeOf(event)].sort((a, b) => a - b);
    finish();
    if (ends[1] - ends[0] < LEAST_DRAG) return;
    ranges.set(canvas, { min: valueAt(ends[0]), max: valueAt(ends[1]) });
    redraw(canvas);
  });
  canvas.addEventListener("pointercancel", finish);
  canvas.addEventListener("dblclick", () => draw(canvas));
}

function figure(place, name, unit, height, config) {
  const plot = add(place, "figure", { class: "plot" });
  add(add(plot, "figcaption", {}, name + " "), "small", {}, unit === "count" ? "" : unit);
  const box = add(plot, "div", { class: "canvas", style: `height: ${height}px` });
  const canvas = add(box, "canvas", { role: "img", "aria-label": name });
  drawn.set(canvas, config);
  draw(canvas);
  return plot;
}
