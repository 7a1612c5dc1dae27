"use strict";
// The page shows the records that stand in it, a row each, beside lanes of the nodes. Only the rows within the
// window are drawn, with the arrows that cross it. Whatever a record says is put into the page as text.

const rowHeight = 20, timeWidth = 104, longArrow = 400, bucketRows = 64, optionsMax = 2000;
const ordinary = new Set(["step", "sent", "received", "lost"]);
const messageKinds = new Set(["sent", "received", "lost"]);
const lives = { started: "lane", resumed: "lane", ended: "down", paused: "still" };

const $ = id => document.getElementById(id);
const page = JSON.parse($("page").textContent);
const records = $("records").textContent.split("\n").filter(line => line).map(line => JSON.parse(line));

const state = {
  lanes: new Map(), // by the name of a node: its number, and whether it is shown
  other: [],        // of a record of a message: the other ends of it, by their numbers
  changes: [],      // of a lane: [record, class of its line from there on]
  shown: [],        // the records that pass the filters, in order
  row: null,        // of a record; -1: it is not shown
  arrows: [],       // [row, row, lane, lane, class: "gone" if it was lost, "open" if the story has no end of it]
  buckets: [],      // the arrows that cross some rows
  chosen: -1,       // a record
};

// h makes an element, e in the name space of pictures.
function h(what, attrs, ...children) { return fill(document.createElement(what), attrs, children); }
function e(what, attrs, ...children) { return fill(document.createElementNS("http://www.w3.org/2000/svg", what), attrs, children); }
function fill(x, attrs, children) {
  for (const [k, v] of Object.entries(attrs || {})) if (v !== null && v !== undefined) x.setAttribute(k, v);
  x.append(...children.filter(c => c !== null && c !== undefined));
  return x;
}

const nameOf = r => r.type || r.id ? (r.type || "") + "/" + (r.id || "") : "";
const isWall = records.length > 0 && records[0].t > 1e17; // virtual time begins with zero
const zero = isWall ? records[0].t : 0;
const seconds = t => ((t - zero) / 1e9).toFixed(6);
const isMark = r => r.kind === "fault" || r.kind === "violation" || r.kind in lives;

// learn finds lanes, the ends of messages, and how nodes live.
function learn() {
  const entities = new Map(), keys = new Map(), departures = new Map();
  const count = (of, name) => name && of.set(name, (of.get(name) || 0) + 1);
  records.forEach((r, i) => {
    for (const name of [r.node, r.peer]) if (name && !state.lanes.has(name)) state.lanes.set(name, { on: true });
    count(entities, r.id ? nameOf(r) : "");
    (r.keys || []).forEach(k => count(keys, k));
    if (r.kind === "sent" && r.msg) departures.set(r.msg, i);
  });
  const natural = new Intl.Collator("en", { numeric: true }).compare;
  [...state.lanes.keys()].sort(natural).forEach((name, n) => {
    const lane = state.lanes.get(name);
    state.lanes.delete(name);
    state.lanes.set(name, Object.assign(lane, { n }));
    state.changes.push([]);
  });
  records.forEach((r, i) => {
    if (r.msg && (r.kind === "received" || r.kind === "lost")) {
      const from = departures.get(r.msg);
      if (from !== undefined) {
        state.other[i] = [from];
        (state.other[from] = state.other[from] || []).push(i);
      }
    }
    if (r.node && r.kind in lives) state.changes[state.lanes.get(r.node).n].push([i, lives[r.kind]]);
  });
  for (const changes of state.changes) {
    changes.unshift([-1, changes.length && records[changes[0][0]].kind === "started" ? "down" : "lane"]);
  }
  for (const [id, of] of [["entities", entities], ["keys", keys]]) {
    const most = [...of].sort((a, b) => b[1] - a[1]).slice(0, optionsMax).map(x => x[0]).sort(natural);
    $(id).append(...most.map(value => h("option", { value })));
    state[id] = of;
  }
}

// matcher returns a test for names: the one that is wanted, or those that contain it if there is none.
function matcher(wanted, known) {
  if (!wanted) return null;
  return known.has(wanted) ? name => name === wanted : name => name.includes(wanted);
}

// filter looks for the records that are shown. Faults, and what else marks the course of a story, stay when an
// entity or a key is chosen.
function filter() {
  const entity = matcher($("entity").value.trim(), state.entities), key = matcher($("key").value.trim(), state.keys);
  const words = $("words").value.trim().toLowerCase();
  const show = { messages: $("messages").checked, steps: $("steps").checked, marks: $("marks").checked };
  state.shown = [];
  state.row = new Int32Array(records.length).fill(-1);
  records.forEach((r, i) => {
    const kind = messageKinds.has(r.kind) ? "messages" : r.kind === "step" ? "steps" : "marks";
    if (r.kind !== "violation") {
      if (!show[kind] || r.node && !state.lanes.get(r.node).on) return;
      if ((entity || key) && (ordinary.has(r.kind) || r.id || r.keys) &&
        !(entity && r.id && entity(nameOf(r))) && !(key && (r.keys || []).some(key))) return;
      if (words && !(r.text || "").toLowerCase().includes(words)) return;
    }
    state.row[i] = state.shown.length;
    state.shown.push(i);
  });
  connect();
  $("count").value = state.shown.length === records.length ? `${records.length} records`
    : `${state.shown.length} of ${records.length} records`;
  $("room").style.height = Math.max(1, state.shown.length) * rowHeight + "px";
  drawMap();
  draw(true);
}

// connect makes the arrows between the records that are shown.
function connect() {
  state.arrows = [];
  state.buckets = [];
  const add = arrow => {
    const [a, b] = arrow[0] < arrow[1] ? arrow : [arrow[1], arrow[0]];
    for (let k = Math.floor(a / bucketRows); k <= Math.floor(b / bucketRows); k++) {
      if (b - a > longArrow && k !== Math.floor(a / bucketRows) && k !== Math.floor(b / bucketRows)) continue;
      (state.buckets[k] = state.buckets[k] || []).push(arrow);
    }
    state.arrows.push(arrow);
  };
  const between = (from, to, a, b, end) => {
    if (a && b && a !== b) add([from, to, state.lanes.get(a).n, state.lanes.get(b).n, end]);
  };
  for (const i of state.shown) {
    const r = records[i], row = state.row[i], [other] = state.other[i] || [];
    if (r.kind === "sent" && other === undefined) between(row, row + 1, r.node, r.peer, "open");
    if (other === undefined || state.row[other] < 0) continue;
    if (r.kind === "lost") between(state.row[other], row, r.node, r.peer, "gone");
    if (r.kind === "received") between(state.row[other], row, records[other].node, r.node, "");
  }
}

// rowOf is the row of a record, or of the next one that is shown.
function rowOf(record) {
  let low = 0, high = state.shown.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (state.shown[mid] < record) low = mid + 1; else high = mid;
  }
  return low;
}

const laneWidth = () => Math.max(44, Math.min(110, Math.floor(520 / Math.max(1, state.lanes.size))));
const laneX = n => timeWidth + laneWidth() * (n + .5);
const middle = row => row * rowHeight + rowHeight / 2;

let drawn = "";

// draw draws the window.
function draw(anew) {
  const list = $("list"), rows = state.shown.length;
  const first = Math.max(0, Math.floor(list.scrollTop / rowHeight) - 10);
  const last = Math.min(rows, Math.ceil((list.scrollTop + list.clientHeight) / rowHeight) + 10);
  if (!anew && drawn === first + "," + last) return;
  drawn = first + "," + last;
  const lanesWidth = laneWidth() * state.lanes.size, all = [];
  for (let row = first; row < last; row++) all.push(drawRow(row, lanesWidth));
  $("rows").replaceChildren(...all);
  list.setAttribute("aria-activedescendant", state.row && state.chosen >= 0 && state.row[state.chosen] >= first &&
    state.row[state.chosen] < last ? "r" + state.chosen : "");
  drawArt(first, last, timeWidth + lanesWidth);
  drawView();
}

function drawRow(row, lanesWidth) {
  const i = state.shown[row], r = records[i];
  const lanes = h("span", { class: "lanes" });
  lanes.style.width = lanesWidth + "px";
  const text = firstLine(r), kind = messageKinds.has(r.kind) || r.kind === "violation" ? r.kind + " " : "", x = h("div", {
    class: "row " + r.kind, id: "r" + i, role: "option", "aria-selected": i === state.chosen,
    "aria-posinset": row + 1, "aria-setsize": state.shown.length, "data-record": i,
    "aria-label": `${seconds(r.t)} seconds, ${r.node || "the world"}, ${r.kind}${r.peer ? (r.kind === "received" ? " from " : " to ") + r.peer : ""}: ${text}`,
  }, h("span", { class: "time" }, seconds(r.t)), lanes, h("span", { class: "text" }, kind + text));
  x.style.top = row * rowHeight + "px";
  return x;
}

// firstLine is the first line of a text, with the entity that it is about.
function firstLine(r) {
  const text = (r.text || "").split("\n", 1)[0];
  return r.id && !text.includes(r.id) ? `${text} (${nameOf(r)})` : text;
}

function drawArt(first, last, width) {
  const top = first * rowHeight, height = Math.max(1, last - first) * rowHeight, art = [];
  for (const [, lane] of state.lanes) drawLane(art, lane.n, first, last, top);
  const crossing = new Set();
  for (let k = Math.floor(first / bucketRows); k <= Math.floor(last / bucketRows); k++) {
    for (const arrow of state.buckets[k] || []) crossing.add(arrow);
  }
  for (const arrow of crossing) drawArrow(art, arrow, first, last, top);
  for (let row = first; row < last; row++) {
    const r = records[state.shown[row]], y = middle(row) - top;
    if (r.node) art.push(mark(r.kind, laneX(state.lanes.get(r.node).n), y));
    else if (r.kind === "fault" || r.kind === "violation") {
      art.push(e("rect", { class: r.kind, x: timeWidth, y: y - 2, width: Math.max(0, width - timeWidth), height: 4 }));
    }
  }
  const svg = $("art");
  svg.style.top = top + "px";
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  svg.replaceChildren(...art);
}

function drawLane(art, n, first, last, top) {
  const changes = state.changes[n], x = laneX(n);
  for (let c = 0; c < changes.length; c++) {
    const from = Math.max(first, changes[c][0] < 0 ? 0 : rowOf(changes[c][0]));
    const to = Math.min(last, c + 1 < changes.length ? rowOf(changes[c + 1][0]) : state.shown.length);
    if (from < to || from === to && from < last) {
      art.push(e("line", { class: changes[c][1] === "still" ? "still" : "lane " + changes[c][1], "data-lane": n,
        x1: x, x2: x, y1: middle(from) - top - (from === 0 ? 10 : 0), y2: middle(Math.max(from, to)) - top }));
    }
  }
}

function mark(kind, x, y) {
  switch (kind) {
    case "fault": case "violation": return e("path", { class: kind, d: `M${x},${y - 8} L${x + 8},${y + 6} L${x - 8},${y + 6} Z` });
    case "lost": return e("path", { class: "cross", d: `M${x - 4},${y - 4} l8,8 m0,-8 l-8,8` });
    case "started": case "resumed": return e("path", { class: kind, d: `M${x - 5},${y - 6} l11,6 l-11,6 Z` });
    case "ended": case "paused": return e("rect", { class: kind, x: x - 5, y: y - 5, width: 10, height: 10 });
    case "note": return e("circle", { class: kind, cx: x, cy: y, r: 5 });
    case "step": return e("circle", { class: "dot", cx: x, cy: y, r: 2 });
  }
  return e("circle", { class: kind, cx: x, cy: y, r: 3.5 });
}

// drawArrow draws an arrow from a row and a lane to others. Of one that is very long only its ends are drawn.
function drawArrow(art, [from, to, a, b, end], first, last, top) {
  const x1 = laneX(a), x2 = laneX(b), y1 = middle(from) - top, y2 = middle(to) - top;
  const chosen = state.chosen >= 0 && (state.row[state.chosen] === from || state.row[state.chosen] === to);
  const cls = "arrow" + (end && " " + end) + (chosen ? " chosen" : "");
  const attrs = { class: cls, "data-from": a, "data-to": b, "data-rows": `${from},${to}` };
  if (Math.abs(to - from) > longArrow && !chosen) {
    const dx = (x2 - x1) / 3;
    if (from >= first && from < last) art.push(e("line", { ...attrs, x1, y1, x2: x1 + dx, y2: y1 + 24 }));
    if (to >= first && to < last) art.push(e("line", { ...attrs, x1: x2 - dx, y1: y2 - 24, x2, y2 }));
  } else if (end) {
    const x = x1 + (x2 - x1) * .6, y = y1 + (y2 - y1) * .6;
    art.push(e("line", { ...attrs, x1, y1, x2: x, y2: y }));
    if (end === "gone") art.push(e("path", { class: "cross", d: `M${x - 4},${y - 4} l8,8 m0,-8 l-8,8` }));
    return;
  } else {
    art.push(e("line", { ...attrs, x1, y1, x2, y2 }));
  }
  if (end || to < first || to >= last) return;
  const long = Math.hypot(x2 - x1, y2 - y1) || 1, ux = (x2 - x1) / long, uy = (y2 - y1) / long;
  art.push(e("path", { class: "head", d: `M${x2 - ux * 3},${y2 - uy * 3} l${-ux * 9 - uy * 4},${-uy * 9 + ux * 4} l${uy * 8},${-ux * 8} Z` }));
}

function drawHeads() {
  const w = laneWidth();
  $("room").style.minWidth = timeWidth + w * state.lanes.size + 320 + "px";
  $("heads").replaceChildren(...[...state.lanes].map(([name, lane]) => {
    const b = h("button", { type: "button", "aria-pressed": lane.on, title: `Show or hide ${name}`, "data-lane": name }, name);
    b.style.left = timeWidth + w * lane.n + 1 + "px";
    b.style.width = w - 2 + "px";
    b.addEventListener("click", () => { lane.on = !lane.on; b.setAttribute("aria-pressed", lane.on); filter(); });
    return b;
  }));
}

const mapColumns = 600;

// drawMap draws where in the story the marks are.
function drawMap() {
  const columns = [];
  for (let row = 0; row < state.shown.length; row++) {
    const r = records[state.shown[row]], at = Math.floor(row / state.shown.length * mapColumns);
    if (!isMark(r)) continue;
    const cls = r.kind === "violation" || r.kind === "fault" ? r.kind : "other";
    if (columns[at] !== "violation" && !(columns[at] === "fault" && cls === "other")) columns[at] = cls;
  }
  $("map").setAttribute("viewBox", `0 0 ${mapColumns} 10`);
  $("map").replaceChildren(...columns.map((cls, x) => e("rect", { class: cls, x, y: 0, width: cls === "violation" ? 3 : 1, height: 10 })).filter(x => x),
    e("rect", { class: "view", id: "view", y: 0, height: 10 }));
}

function drawView() {
  const list = $("list"), all = Math.max(1, list.scrollHeight), view = $("view");
  if (!view) return;
  view.setAttribute("x", list.scrollTop / all * mapColumns);
  view.setAttribute("width", Math.max(2, list.clientHeight / all * mapColumns));
}

// choose shows a record, and what is known of it.
function choose(record, center) {
  if (record === undefined || record < 0) return;
  if (state.row[record] < 0) { clear(); }
  state.chosen = record;
  const list = $("list"), top = state.row[record] * rowHeight;
  if (center || top < list.scrollTop || top + rowHeight > list.scrollTop + list.clientHeight) {
    list.scrollTop = center ? top - list.clientHeight / 2 : top < list.scrollTop ? top : top + rowHeight - list.clientHeight;
  }
  draw(true);
  describe(record);
}

function describe(record) {
  const r = records[record], dl = h("dl");
  const say = (name, ...what) => dl.append(h("dt", {}, name), h("dd", {}, ...what));
  const button = (text, does) => { const b = h("button", { type: "button" }, text); b.addEventListener("click", does); return b; };
  say("time", seconds(r.t) + " s" + (isWall ? `, ${new Date(r.t / 1e6).toISOString()}` : ""));
  say("what", r.kind);
  say("node", (r.node || "none: the world around") + (r.inc ? `, incarnation ${r.inc}` : ""));
  if (r.peer) say(r.kind === "received" ? "from" : "to", r.peer);
  if (r.msg) say("message", r.msg);
  for (const o of state.other[record] || []) {
    const took = Math.abs(records[o].t - r.t) / 1e6;
    say("other end", button(`${records[o].kind} ${took.toFixed(3)} ms ${records[o].t < r.t ? "before" : "after"} (m)`, () => choose(o, true)));
  }
  if (messageKinds.has(r.kind) && r.msg && !(state.other[record] || []).length) {
    say("other end", r.kind === "sent" ? "it did not arrive while the story was told" : "not in this story");
  }
  if (r.id) say("entity", button(nameOf(r), () => only("entity", nameOf(r)))); else if (r.type) say("entity type", r.type);
  for (const k of r.keys || []) say("key", button(k, () => only("key", k)));
  $("details").replaceChildren(dl, h("pre", {}, r.text || ""));
}

// only filters by an entity or a key.
function only(id, value) {
  $("entity").value = $("key").value = "";
  $(id).value = value;
  refilter();
}

function clear() {
  for (const id of ["entity", "key", "words"]) $(id).value = "";
  for (const id of ["messages", "steps", "marks"]) $(id).checked = true;
  for (const lane of state.lanes.values()) lane.on = true;
  drawHeads();
  filter();
}

// refilter filters, and keeps the chosen record in view, or the one after it.
function refilter() {
  filter();
  if (!state.shown.length) return;
  const row = state.chosen < 0 ? 0 : Math.min(state.shown.length - 1, rowOf(state.chosen));
  $("list").scrollTop = middle(row) - $("list").clientHeight / 2;
  draw(true);
}

// toMark chooses the next mark in a direction.
function toMark(step) {
  let row = state.chosen < 0 ? (step > 0 ? -1 : state.shown.length) : step > 0 && state.row[state.chosen] < 0 ? rowOf(state.chosen) - 1 : rowOf(state.chosen);
  for (row += step; row >= 0 && row < state.shown.length; row += step) {
    if (isMark(records[state.shown[row]])) return choose(state.shown[row], true);
  }
}

const toEnd = () => choose(records.findLastIndex(r => r.kind === "violation"), true);

function move(rows) {
  const row = state.chosen < 0 ? 0 : rowOf(state.chosen) + rows;
  choose(state.shown[Math.max(0, Math.min(state.shown.length - 1, row))]);
}

function theme(dark) { document.documentElement.dataset.theme = dark ? "dark" : "light"; }
const turn = () => theme(document.documentElement.dataset.theme !== "dark");

function onKey(ev) {
  if (ev.ctrlKey || ev.altKey || ev.metaKey) return;
  if (ev.key === "Escape" && ev.target.matches("input")) { $("list").focus(); return; }
  if (ev.target.matches("input")) return;
  const windowRows = Math.max(1, Math.floor($("list").clientHeight / rowHeight) - 1);
  const does = {
    ArrowDown: () => move(1), ArrowUp: () => move(-1), PageDown: () => move(windowRows), PageUp: () => move(-windowRows),
    Home: () => move(-Infinity), End: () => move(Infinity),
  }, anywhere = {
    n: () => toMark(1), N: () => toMark(-1), v: toEnd, "/": () => $("words").focus(), d: turn,
    m: () => state.chosen >= 0 && state.other[state.chosen] && choose(state.other[state.chosen][0], true),
  };
  const act = anywhere[ev.key] || (document.activeElement === $("list") && does[ev.key]);
  if (act) { ev.preventDefault(); act(); }
}

function begin() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  theme(dark.matches);
  dark.addEventListener("change", () => theme(dark.matches));
  document.title = $("title").textContent = page.title || "A story";
  $("about").textContent = [page.replay, page.left ? `${page.left} records were left out` : ""].filter(x => x).join(" · ");
  learn();
  const broken = records.filter(r => r.kind === "violation");
  $("broken").textContent = broken.map(r => r.text || "violation").join("\n");
  $("end").hidden = broken.length === 0;
  drawHeads();
  filter();
  let timer = 0;
  for (const id of ["entity", "key", "words"]) $(id).addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(refilter, 120); });
  for (const id of ["messages", "steps", "marks"]) $(id).addEventListener("change", refilter);
  $("filters").addEventListener("submit", ev => ev.preventDefault());
  $("clear").addEventListener("click", () => { clear(); if (state.chosen >= 0) choose(state.chosen, true); });
  $("before").addEventListener("click", () => toMark(-1));
  $("after").addEventListener("click", () => toMark(1));
  $("end").addEventListener("click", toEnd);
  $("theme").addEventListener("click", turn);
  $("list").addEventListener("scroll", () => { $("heads").scrollLeft = $("list").scrollLeft; requestAnimationFrame(() => draw(false)); });
  $("rows").addEventListener("click", ev => { const row = ev.target.closest(".row"); if (row) choose(Number(row.dataset.record)); });
  $("map").addEventListener("click", ev => {
    const at = ev.offsetX / $("map").clientWidth;
    choose(state.shown[Math.min(state.shown.length - 1, Math.floor(at * state.shown.length))], true);
  });
  addEventListener("resize", () => draw(true));
  addEventListener("keydown", onKey);
  if (broken.length) toEnd();
}

begin();
