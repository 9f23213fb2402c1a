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
  byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
  for (const watcher of themeWatchers) watcher();
}
byId("theme").onclick = () =>
    setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
