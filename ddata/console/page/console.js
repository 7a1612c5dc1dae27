"use strict";
// The page asks the API every two seconds and draws what it says. Everything that comes from a cluster
// is put into the page as text, never as markup. A drawing is compared with what is there, and only the
// difference is changed, so that focus, selection and scroll positions stay.

const every = 2000, patience = 8000, pageSize = 200;
const lately = 15 * 60 * 1000; // within which an alarm is one of now
const matrixMax = 30; // members; of larger clusters only those that are not heard are shown

const state = {
  tab: "nodes", cluster: null, events: null, metrics: null, shards: null, shardsType: "", shardsFrom: 0,
  access: "", paused: false, failing: "", since: 0, found: null, notes: [],
  picked: new Set(), // numbers of shards, of the page that is shown
  troubles: {}, // why a question other than that for the cluster was not answered, by what it asks for
};

const $ = id => document.getElementById(id);

// h makes an element of a tag with classes, such as "p.soft".
function h(what, attrs, ...children) {
  const [tag, ...classes] = what.split(".");
  const e = document.createElement(tag);
  if (classes.length) e.className = classes.join(" ");
  for (const [k, v] of Object.entries(attrs || {})) if (v !== null && v !== undefined && v !== false) e.setAttribute(k, v === true ? "" : v);
  for (const c of children.flat(9)) if (c !== null && c !== undefined && c !== false) e.append(c instanceof Node ? c : String(c));
  return e;
}

// draw makes the children of an element like those given.
function draw(el, ...children) {
  const next = h("div", {}, ...children);
  morphChildren(el, next);
}

function morphChildren(old, next) {
  const want = [...next.childNodes];
  for (let i = 0; i < want.length; i++) {
    const have = old.childNodes[i];
    if (!have) old.append(want[i]);
    else if (have.nodeName !== want[i].nodeName || have.nodeType !== want[i].nodeType) old.replaceChild(want[i], have);
    else morph(have, want[i]);
  }
  while (old.childNodes.length > want.length) old.lastChild.remove();
}

function morph(old, next) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  for (const a of [...old.attributes]) if (!next.hasAttribute(a.name)) old.removeAttribute(a.name);
  for (const a of next.attributes) if (old.getAttribute(a.name) !== a.value) old.setAttribute(a.name, a.value);
  morphChildren(old, next);
}

const short = uid => uid ? uid.slice(-8) : "—"; // as logs show it
const head = digest => digest ? digest.slice(0, 8) : "—";
const num = n => Number(n || 0).toLocaleString("en");
const bytes = n => n >= 1 << 30 ? (n / (1 << 30)).toFixed(1) + " GiB" : n >= 1 << 20 ? (n / (1 << 20)).toFixed(1) + " MiB" : n >= 1024 ? (n / 1024).toFixed(1) + " KiB" : num(n) + " B";
const time = t => new Date(t).toLocaleTimeString([], { hour12: false });
const named = m => Object.entries(m || {}).sort().map(([k, n]) => `${k} ${num(n)}`).join(", ");

function tag(text, kind) { return h("span.tag" + (kind ? "." + kind : ""), {}, text); }

// facts is a list of pairs; those with an empty value are left out.
function facts(...pairs) {
  return h("dl", {}, pairs.filter(p => p && p[1] !== "" && p[1] !== null && p[1] !== undefined).map(([k, v]) => [h("dt", {}, k), h("dd", {}, v)]));
}

function button(text, data, danger) {
  const attrs = {};
  for (const [k, v] of Object.entries(data)) attrs["data-" + k] = v;
  return h("button" + (danger ? ".danger" : ""), attrs, text);
}

// alarm names a kind of alarm, and opens its page in the runbook.
const alarm = (kind, text, cls) => h("button.alarm" + (cls ? "." + cls : ""), { "data-runbook": kind, "aria-haspopup": "dialog", title: `what ${kind} means, and what to do` }, text);

// --- asking ---

async function ask(path, options) {
  const r = await fetch(new URL("api/v1/" + path, location.origin + location.pathname), { cache: "no-store", credentials: "same-origin", signal: AbortSignal.timeout(patience), ...options });
  state.access = r.headers.get("X-Coterie-Access") || state.access;
  let body = null;
  try { body = await r.json(); } catch { /* no console answers */ }
  if (!r.ok) throw new Error(body && body.text ? body.text : "the console answers " + r.status);
  return body;
}

function wants() {
  const all = [["cluster", "cluster"]];
  if (state.tab === "times") all.push(["metrics", "metrics"]);
  if (state.tab === "events") all.push(["events", "events?limit=300"]);
  if (state.tab === "types" && state.shardsType) {
    all.push(["shards", `shards?type=${encodeURIComponent(state.shardsType)}&from=${state.shardsFrom}&limit=${pageSize}`]);
  }
  return all;
}

// settle asks one question. That one fails says nothing of the others: only a console that does not say what
// the cluster is, is not there.
async function settle([key, path]) {
  let why = "";
  try {
    state[key] = await ask(path);
  } catch (e) {
    why = e.name === "TimeoutError" ? "it does not answer" : e.message;
  }
  if (key !== "cluster") { state.troubles[key] = why; return; }
  if (why && !state.failing) state.since = Date.now();
  state.failing = why;
}

// trouble draws what is missing of an answer: all of it, or what nodes would have said that gave none.
function trouble(key) {
  const x = state[key], why = state.troubles[key];
  draw($(key + "-trouble"), why && h("p.bad", {}, `The console has not said it: ${why}`),
    ((x || {}).unanswered || []).map(u => h("p.warn", {}, `${short(u.uid)} ${u.addr} gave no answer: ${u.why}`)));
}

let timer = 0, asking = false;

async function poll() {
  clearTimeout(timer);
  if (asking) return;
  if (state.paused || document.hidden) { timer = setTimeout(poll, every); return; }
  asking = true;
  try {
    await Promise.all([...wants().map(settle), refind()]);
  } finally {
    asking = false;
  }
  render();
  timer = setTimeout(poll, every);
}

// --- drawing ---

function nodesByUID() { return new Map((state.cluster ? state.cluster.nodes || [] : []).map(n => [n.uid, n])); }

function render() {
  const c = state.cluster;
  document.body.dataset.access = state.access;
  for (const b of $("tabs").children) b.setAttribute("aria-current", String(b.dataset.tab === state.tab));
  for (const s of document.querySelectorAll("section")) s.hidden = s.dataset.section !== state.tab;
  $("pause").textContent = state.paused ? "Go on" : "Pause";
  renderState(c);
  renderAlerts(c);
  if (!c) return;
  document.title = c.name + " — Coterie";
  $("name").textContent = c.name;
  const r = c.view.retirement || {};
  $("epoch").textContent = `view ${c.view.epoch}, format ${c.view.format}` + (r.ending ? ", incarnations retire" : "");
  $("epoch").title = [
    r.ended && `retired: incarnations ${r.ended}, since view ${r.since}`,
    r.ending && `retire now: those ${r.ending}`,
    ...(c.nodes || []).filter(n => n.retirementWaits).map(n => `waits for ${n.retirementWaits}`),
  ].filter(Boolean).join("; ");
  $("asked").textContent = `asked ${short(c.asked)}, ${time(c.at)}, you may ${state.access === "operate" ? "look and act" : "look"}`;
  ({ nodes: renderNodes, data: renderData, types: renderTypes, times: renderTimes, events: renderEvents })[state.tab](c);
}

function renderState(c) {
  if (state.failing) { $("state").textContent = "not connected"; $("state").className = "bad"; return; }
  if (!c) return;
  const ready = (c.nodes || []).filter(n => n.ready).length, all = c.view.members.length;
  $("state").textContent = `${ready} of ${all} nodes ready` + (state.paused ? ", paused" : "");
  $("state").className = ready === all ? "good" : "warn";
}

function renderAlerts(c) {
  const all = state.notes.map(n => h("p" + (n.good ? ".good" : ""), {}, n.text));
  if (state.failing) all.push(h("p", {}, `The console has not answered since ${time(state.since)}: ${state.failing}. What is shown is what it said last.`));
  if (c && c.view.closing) all.push(h("p.warn", {}, "The whole cluster is about to be stopped: nothing is handed over any more."));
  for (const u of c ? c.unanswered || [] : []) all.push(h("p", {}, `${short(u.uid)} ${u.addr} gave no answer: ${u.why}`));
  for (const n of c ? c.nodes || [] : []) for (const why of n.reasons || []) all.push(h("p.warn", {}, `${short(n.uid)} ${n.addr}: ${why}`));
  draw($("alerts"), all);
}

function renderNodes(c) {
  const nodes = nodesByUID(), silent = new Map((c.unanswered || []).map(u => [u.uid, u]));
  draw($("members"), c.view.members.map((m, i) => memberCard(c, m, i, nodes.get(m.uid), silent.get(m.uid))));
  const odd = c.view.members.filter(m => !nodes.has(m.uid) || (nodes.get(m.uid).unreachable || []).length);
  const rows = c.view.members.length > matrixMax ? odd.slice(0, matrixMax) : c.view.members;
  const columns = c.view.members.length > matrixMax
    ? c.view.members.filter(o => (c.nodes || []).some(n => (n.unreachable || []).some(s => s.uid === o.uid))).slice(0, matrixMax) : c.view.members;
  $("reach-all").hidden = rows.length > 0;
  draw($("reach"),
    h("thead", {}, h("tr", {}, h("th", {}, "hears →"), columns.map(m => h("th", { scope: "col" }, short(m.uid))))),
    h("tbody", {}, rows.map(m => h("tr", {}, h("th", { scope: "row" }, short(m.uid)), columns.map(o => reachCell(nodes.get(m.uid), m, o))))));
}

function reachCell(n, m, o) {
  if (m.uid === o.uid) return h("td.soft", {}, "·");
  if (!n) return h("td.soft", {}, "?");
  const gone = (n.unreachable || []).find(s => s.uid === o.uid);
  return gone ? h("td.bad", {}, "no, since " + time(gone.since)) : h("td.good", {}, "yes");
}

function memberCard(c, m, i, n, silent) {
  const health = silent ? tag("no answer", "bad") : !n ? tag("?", "soft") : n.ready ? tag("ready", "good") : n.live ? tag("not ready", "warn") : tag("not live", "bad");
  const alarms = n ? n.alarms || [] : [];
  const drains = (n ? n.types || [] : []).filter(t => t.drain), drained = drains.every(t => t.drain.done);
  return h("article.card" + (silent ? ".silent" : ""), { "data-uid": m.uid },
    h("h3", {}, h("span.legend.n" + i % 8, { "aria-hidden": "true" }), m.addr, health,
      alarms.length > 0 && tag("alarms", alarms.some(a => new Date(n.at) - new Date(a.last) < lately) ? "bad" : "soft"),
      drains.length > 0 && tag(drained ? "drained" : "draining", "warn")),
    h("p.soft", {}, short(m.uid), " · ", m.status, m.age ? ` · age ${m.age}` : " · learning", m.voter ? " · votes" : "", m.version ? " · version " + m.version : "", ` · formats ${m.formats.join(" to ")}`),
    facts(["roles", (m.roles || []).join(", ")], ["oldest of", (m.oldestOf || []).join(", ")],
      n && ["lease", n.lease ? h("span.good", {}, "held") : h("span.warn", {}, "none")],
      n && n.epoch !== c.view.epoch && ["view", "e" + n.epoch],
      n && ["shards", num((n.types || []).reduce((s, t) => s + t.hosted, 0))],
      alarms.length > 0 && ["alarms", h("ul", {}, alarms.map(a => h("li", {}, alarm(a.kind, a.kind), ` ${num(a.count)}, the last at ${time(a.last)}`)))],
      ...drains.map(t => ["hands over", `${t.name}: ${t.drain.done ? "all shards have gone" : `${num(t.hosted)} shards left`}, since ${time(t.drain.since)}` + (t.drain.why ? `: ${t.drain.why}` : "")]),
      n && ["entities", num((n.types || []).reduce((s, t) => s + t.active, 0)) + " active"],
      n && ["links", `${num(n.transport.links)}, ${bytes(n.transport.bytesIn)} in, ${bytes(n.transport.bytesOut)} out`],
      n && ["frames lost", named(n.transport.dropped)],
      n && n.store && ["disk", `${bytes(n.store.fileBytes)}, ${num(n.store.commits)} commits, ${bytes(n.store.queuedBytes)} wait`],
      n && n.store && n.store.failed && ["disk failed", h("span.bad", {}, num(n.store.failed))]),
    h("p.row.act", {}, button("Leave…", { do: "leave", node: m.uid }), button("Drain…", { do: "drain", node: m.uid }), button("Down…", { do: "down", node: m.uid }, true)));
}

function renderData(c) {
  const title = r => r.data === "user" ? r.name : `${r.name}, what entity types and other extensions keep`;
  const titles = [...new Set((c.nodes || []).flatMap(n => (n.roles || []).map(title)))].sort();
  draw($("roles"), titles.map(name => h("div.scroll", {},
    h("h3", {}, name),
    h("table", {},
      h("thead", {}, h("tr", {}, ["node", "keys", "durable", "items", "bytes", "events", "origins", "log", "waiting", "furthest behind", "repairs", "state", "digests"].map(t => h("th", { scope: "col" }, t)))),
      h("tbody", {}, (c.nodes || []).flatMap(n => (n.roles || []).filter(r => title(r) === name).map(r => roleRow(n, r))))))));
}

function roleRow(n, r) {
  const far = (r.lags || []).reduce((a, b) => b.events > a.events ? b : a, { events: 0 });
  const v = r.volatile, d = r.durable;
  return h("tr", {}, h("th", { scope: "row" }, short(n.uid) + " " + n.addr),
    [v.keys + d.keys, d.keys, v.items + d.items].map(x => h("td.num", {}, num(x))), h("td.num", {}, bytes(v.bytes + d.bytes)),
    [v.events + d.events, v.origins + d.origins, v.logEvents + d.logEvents].map(x => h("td.num", {}, num(x))),
    h("td.num", {}, bytes(v.waitingBytes + d.waitingBytes)),
    h("td" + (far.events ? ".warn" : ""), {}, far.events ? `${short(far.uid)}, ${num(far.events)} events` : "none"),
    h("td.num", {}, num(r.repairs)),
    h("td", {}, r.silent ? h("span.bad", {}, "stands still") : r.caughtUp ? h("span.good", {}, "caught up") : h("span.warn", {}, "catching up"),
      r.digestAlarms ? h("span.bad", {}, ` digests differed ${num(r.digestAlarms)} times`) : "",
      r.storeFailed ? h("span.bad", {}, ` the disk refused ${num(r.storeFailed)}`) : ""),
    h("td.soft", {}, r.silent ? "" : `${head(v.digest)} ${head(d.digest)}`));
}

// summed are the entity types, with what the nodes have together.
function summed(c) {
  const all = new Map();
  for (const n of c.nodes || []) for (const t of n.types || []) {
    const s = all.get(t.name) || { name: t.name, role: t.role, shards: t.shards, movable: t.movable, hosted: 0, active: 0, entities: 0, buffered: 0, queued: 0, slow: 0, overdue: 0, asks: 0, timedOut: 0, handled: 0, panics: 0, restored: 0, forced: 0, leasesLost: 0, awaiting: 0, moves: 0, moving: 0, aborted: 0, maxMillis: 0, fired: 0, remFailed: 0, dropped: {}, alarms: {}, passivated: {}, why: [], on: [], coordinator: "" };
    all.set(t.name, s);
    s.movable ||= t.movable;
    for (const k of ["hosted", "active", "entities", "forced", "leasesLost", "awaiting"]) s[k] += t[k];
    for (const k of ["buffered", "queued", "overdue", "asks"]) s[k] += t.waiting[k];
    for (const k of ["slow", "handled", "panics", "restored"]) s[k] += t.work[k];
    s.timedOut += t.work.asksTimedOut; s.moves += t.moves.done; s.moving += t.moves.underWay; s.aborted += t.moves.aborted; s.maxMillis = Math.max(s.maxMillis, t.moves.maxMillis);
    if (t.reminders) { s.fired += t.reminders.fired; s.remFailed += t.reminders.failed; }
    for (const k of ["dropped", "alarms", "passivated"]) for (const [w, x] of Object.entries(t[k] || {})) s[k][w] = (s[k][w] || 0) + x;
    if (t.coordinating) s.coordinator = n.uid;
    if (t.why) s.why.push(`${short(n.uid)}: ${t.why}`);
    s.on.push([n, t]);
  }
  return [...all.values()].sort((a, b) => a.name < b.name ? -1 : 1);
}

function renderTypes(c) {
  const all = summed(c);
  const picked = $("find-type").value;
  draw($("find-type"), all.map(s => h("option", { value: s.name }, s.name)));
  if (picked) $("find-type").value = picked;
  draw($("types"), all.length ? all.map(s => typeCard(c, s)) : h("p.soft", {}, "No entity type was started on a node that answered."));
  renderFound();
  renderShards(c);
}

function typeCard(c, s) {
  const missing = s.shards - s.hosted;
  return h("article.card", { "data-type": s.name },
    h("h3", {}, s.name, tag("role " + s.role), Object.keys(s.alarms).length ? tag("alarms", "bad") : tag("no alarms", "good")),
    facts(["shards", `${num(s.hosted)} of ${num(s.shards)} hosted` + (missing > 0 ? ", the rest has no home yet or does not answer" : "")],
      ["on nodes", s.on.filter(([, t]) => !t.proxy).map(([n, t]) => `${short(n.uid)} ${num(t.hosted)}`).join(", ")],
      ["coordinator", s.coordinator ? short(s.coordinator) : h("span.warn", {}, "none acts")],
      ["entities", `${num(s.active)} active, ${num(s.entities - s.active)} starting or stopping`],
      ["handled", s.handled ? num(s.handled) + " messages" : ""],
      ["waiting", [s.buffered && `${num(s.buffered)} for a home`, s.queued && `${num(s.queued)} entities for a worker`, s.overdue && `${num(s.overdue)} for late results`, s.awaiting && `${num(s.awaiting)} shards for a lease`].filter(Boolean).join(", ")],
      ["slow handlers", s.slow ? h("span.warn", {}, num(s.slow)) : ""],
      ["asks", `${num(s.asks)} under way` + (s.timedOut ? `, ${num(s.timedOut)} timed out` : "")],
      ["moves", (s.moving ? `${num(s.moving)} under way, ` : "") + `${num(s.moves)} done` + (s.aborted ? `, ${num(s.aborted)} aborted` : "") + (s.maxMillis ? `, the longest ${num(s.maxMillis)} ms` : "")],
      ["passivated", named(s.passivated) + (s.forced ? `, forced ${num(s.forced)}` : "")],
      ["dropped", Object.keys(s.dropped).length ? h("span.bad", {}, named(s.dropped)) : ""],
      ["alarms", Object.keys(s.alarms).length ? h("span.row", {}, Object.entries(s.alarms).sort().map(([k, n]) => alarm(k, `${k} ${num(n)}`, "bad"))) : ""],
      ["panics", s.panics ? h("span.bad", {}, num(s.panics)) : ""],
      ["reminders", s.fired ? `${num(s.fired)} fired` + (s.remFailed ? `, ${num(s.remFailed)} failed` : "") : ""],
      ["leases lost", s.leasesLost ? h("span.bad", {}, num(s.leasesLost)) : ""],
      ["limits", s.on.filter(([, t]) => t.limit).map(([n, t]) => `${short(n.uid)} ${num(t.limit)}`).join(", ")],
      ["not registered", s.why.join("; ")]),
    h("p.row", {}, button(state.shardsType === s.name ? "Hide shards" : "Show shards", { shards: s.name }),
      h("span.act.row", {}, button("Rebalance now", { do: "rebalance", type: s.name }), button("Limit…", { limit: s.name }))));
}

function renderShards(c) {
  const x = state.shards, typ = state.shardsType;
  $("shards").hidden = !typ;
  trouble("shards");
  if (!typ || !x || x.type !== typ) { draw($("map")); draw($("shards-table")); $("shards-where").textContent = ""; return; }
  const place = new Map(c.view.members.map((m, i) => [m.uid, i % 8]));
  const last = x.from + (x.shards || []).length;
  $("shards-type").textContent = typ;
  $("shards-where").textContent = `${num(x.from)} to ${num(Math.max(x.from, last - 1))} of ${num(x.total)}`;
  $("shards-back").disabled = x.from === 0;
  $("shards-next").disabled = last >= x.total;
  const list = x.shards || [], homes = hosts(c, typ), movable = homes.some(([, t]) => t.movable);
  draw($("shards-act"), `With ${num(state.picked.size)} chosen: `, h("button.danger", { id: "shards-stop", disabled: !state.picked.size }, "Stop…"),
    movable && [" ", h("select", { id: "shards-to", "aria-label": "node" }, homes.map(nodeOption)), " ", h("button", { id: "shards-move", disabled: !state.picked.size }, "Move there…")]);
  draw($("map"), list.map(s => h("i" + (s.node ? ".n" + (place.get(s.node) || 0) : ".empty"), { title: `shard ${s.shard} on ${short(s.node)}, ${s.active} active` })));
  draw($("shards-table"),
    h("thead", {}, h("tr", {}, h("th.act", { scope: "col" }, h("input", { type: "checkbox", "data-pick": "all", "aria-label": "choose all that are shown" })),
      ["shard", "node", "active", "entities", "waiting messages", "waits for"].map(t => h("th", { scope: "col" }, t)))),
    h("tbody", {}, list.map(s => h("tr", {}, h("td.act", {}, h("input", { type: "checkbox", "data-pick": s.shard, "aria-label": "choose shard " + s.shard })), h("th.num", { scope: "row" }, s.shard),
      h("td", {}, s.node ? [h("span.legend.n" + (place.get(s.node) || 0), { "aria-hidden": "true" }), " ", short(s.node)] : h("span.warn", {}, "none known")),
      h("td.num", {}, num(s.active)), h("td.num", {}, num(s.entities)), h("td.num", {}, num(s.buffered)), h("td", {}, [s.waits, s.moving && onTheWay(s.moving)].filter(Boolean).join("; "))))));
  for (const b of $("shards-table").querySelectorAll("input")) { // what is drawn anew may be another shard's
    b.checked = b.dataset.pick === "all" ? list.length > 0 && list.every(s => state.picked.has(s.shard)) : state.picked.has(Number(b.dataset.pick));
  }
}

// onTheWay says how far a shard is that moves.
function onTheWay(m) {
  return `moves from ${short(m.from)} to ${short(m.to)}: ${m.phase}` + (m.awaits ? `, ${num(m.awaits)} nodes have not answered` : "") + (m.since ? `, since ${time(m.since)}` : "");
}

// hosts are the nodes that may host a type, each with what it says of the type.
function hosts(c, typ) {
  return (c.nodes || []).flatMap(n => (n.types || []).filter(t => t.name === typ && !t.proxy).map(t => [n, t]));
}

const nodeOption = ([n]) => h("option", { value: n.uid }, `${short(n.uid)} ${n.addr}`);

// pick chooses a shard, or all that are shown, or no longer.
function pick(which, on) {
  const list = which === "all" ? (state.shards.shards || []).map(s => s.shard) : [Number(which)];
  for (const s of list) on ? state.picked.add(s) : state.picked.delete(s);
  render();
}

// turn shows another page of shards.
function turn(typ, from) {
  if (typ !== state.shardsType) { state.shards = null; state.troubles.shards = ""; }
  state.shardsType = typ;
  state.shardsFrom = from;
  state.picked.clear();
  render();
  poll();
}

function renderFound() {
  const f = state.found;
  if (!f) { draw($("found")); return; }
  if (!f.entity) { draw($("found"), h("p.bad", {}, f.error)); return; }
  const e = f.entity;
  draw($("found"), f.error && h("p.bad", {}, `This is what was said before: ${f.error}`), h("article.card", {},
    h("h3", {}, e.id, tag(e.type), e.active ? tag("active", "good") : tag("not active", "soft")),
    facts(["shard", e.shard < 0 ? "" : String(e.shard)], ["node", e.shard < 0 ? h("span.warn", {}, "unknown: no node that answered has started the type") : e.node ? `${short(e.node)} ${e.addr || ""}` : h("span.warn", {}, "no node hosts its shard now, or its home is moving")],
      ["not found", e.notFound || ""], ["waiting", num(e.waiting) + " messages"], ["doing", e.doing || ""], ["passivation", e.why || ""],
      ["passivated", (e.passivated || []).length ? h("ol", {}, e.passivated.map(p => h("li", {}, `${new Date(p.at).toLocaleString()}: ${p.text}`))) : ""],
      ["no answer of", (e.unanswered || []).map(u => `${u.addr}: ${u.why}`).join("; ")]),
    h("p.row.act", {}, button("Passivate…", { do: "passivate", type: e.type, entity: e.id }))));
}

// series is a metric with its labels, for eyes: "request duration, role default, op get".
const series = s => [s.name.replace(/^coterie_/, "").replace(/_seconds$/, "").replaceAll("_", " "),
  ...Object.entries(s.labels || {}).map(([k, v]) => `${k} ${v}`)].join(", ");
const amount = (s, x) => !s.name.endsWith("_seconds") ? num(Math.round(x * 10) / 10) : x >= 1 ? x.toFixed(2) + " s" : (x * 1000).toPrecision(3) + " ms";

function renderTimes() {
  trouble("metrics");
  const nodes = ((state.metrics || {}).nodes || []).filter(n => n.kept);
  $("times-none").hidden = !state.metrics || nodes.length > 0;
  const rows = (of, row) => nodes.flatMap(n => (n[of] || []).map(s => [series(s), n, s]))
    .sort((a, b) => a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0)
    .map(([what, n, s]) => h("tr", {}, h("th", { scope: "row" }, what), h("td", {}, short(n.uid)), row(n, s).map(x => h("td.num", {}, x))));
  const head = names => h("thead", {}, h("tr", {}, names.map(t => h("th", { scope: "col" }, t))));
  draw($("timings"), head(["what", "node", "per second", "median", "99 of 100"]), h("tbody", {}, rows("timings", (n, s) =>
    [num(Math.round(s.count * 10000 / Math.max(n.overMillis, 1)) / 10), amount(s, s.p50), (s.beyond ? "over " : "") + amount(s, s.p99)])));
  draw($("gauges"), head(["what", "node", "now"]), h("tbody", {}, rows("gauges", (n, s) => [amount(s, s.value)])));
}

function renderEvents() {
  trouble("events");
  const x = state.events;
  if (!x) return;
  const word = $("event-filter").value.toLowerCase(), warn = $("only-warn").checked;
  const list = (x.events || []).slice().reverse().filter(e => (!warn || e.level !== "info") && (!word || (e.text + e.kind + e.node).toLowerCase().includes(word)));
  draw($("events"), list.length ? list.map(e => h("li", {}, h("time", { datetime: e.at }, time(e.at)),
    e.level === "info" ? h("span.soft", {}, e.level) : alarm(e.kind, e.level, e.level === "error" ? "bad" : "warn"), h("span.soft", {}, short(e.node)), h("span", {}, e.text)))
    : h("li.soft", {}, h("span", {}, "none")));
}

// --- acting ---

const sure = {
  leave: a => `Node ${name(a.node)} will hand over what it runs, leave the cluster, and end.`,
  drain: a => `Node ${name(a.node)} will hand over its shards, and host none until it is started again.`,
  down: a => `The cluster will go on without node ${name(a.node)}, which ends if it still runs.`,
  passivate: a => `${a.type} ${a.entity} will handle what waits, and end its incarnation.`,
  "stop-shards": a => `${num(a.shards.length)} shards of ${a.type} will stop with their entities, until a message asks for them.`,
  move: a => `${num(a.shards.length)} shards of ${a.type} shall live on ${name(a.node)}. They move with the next look at the balance.`,
  "prepare-shutdown": () => "No shard will move any more, and no node joins, until the whole cluster was stopped. This cannot be taken back.",
};

function name(uid) {
  const m = state.cluster && state.cluster.view.members.find(m => m.uid === uid);
  return m ? `${short(uid)} ${m.addr}` : short(uid);
}

let answer = null; // takes the answer to the question that is open

// confirmed asks, and resolves to whether it was answered with yes. A dialog tells of its closing a little
// later: then the next question may be open already, which that is no answer to.
function confirmed(text) {
  if (answer) answer(false);
  return new Promise(done => {
    answer = done;
    $("ask-text").textContent = text;
    $("ask").returnValue = "no";
    $("ask").showModal();
  });
}

$("ask").addEventListener("close", () => {
  if ($("ask").open || !answer) return;
  const done = answer;
  answer = null;
  done($("ask").returnValue === "yes");
});

async function act(a) {
  if (sure[a.do] && !await confirmed(sure[a.do](a))) return;
  try {
    const r = await ask("actions", {
      method: "POST", headers: { "Content-Type": "application/json", "X-Coterie-Console": "page" },
      body: JSON.stringify(a), signal: AbortSignal.timeout(30000),
    });
    note(r.text, true);
  } catch (e) {
    note(`${a.do}: ${e.message}`, false);
  }
  poll();
}

// limit asks how many entities of a type may be active on which node.
function limit(typ) {
  $("limit-type").textContent = typ;
  draw($("limit-node"), hosts(state.cluster, typ).map(nodeOption));
  $("limit").returnValue = "no";
  $("limit").showModal();
}

$("limit").addEventListener("close", () => {
  const n = Number($("limit-n").value);
  if ($("limit").returnValue !== "yes" || !n) return;
  act({ do: "limit", type: $("limit-type").textContent, node: $("limit-node").value, limit: n });
});

// note shows what became of an action, for a while.
function note(text, good) {
  const n = { text, good };
  state.notes = state.notes.filter(o => o.text !== text).concat(n).slice(-4);
  setTimeout(() => { state.notes = state.notes.filter(o => o !== n); render(); }, 15000);
  render();
}

// refind asks again for the entity that is shown, if it still is when the answer comes.
async function refind() {
  const e = state.tab === "types" && state.found && state.found.entity;
  if (!e) return;
  const again = await ask(entityPath(e.type, e.id)).then(entity => ({ entity }), err => ({ entity: e, error: err.message }));
  if (state.found && state.found.entity === e) state.found = again;
}

const entityPath = (typ, id) => `entity?type=${encodeURIComponent(typ)}&id=${encodeURIComponent(id)}`;

async function find(typ, id) {
  try {
    state.found = { entity: await ask(entityPath(typ, id)) };
  } catch (e) {
    state.found = { error: e.message };
  }
  renderFound();
}

// runbook opens the page of an alarm. Its text is Markdown, and is shown as it is written.
async function runbook(kind) {
  const show = (title, text) => { $("runbook-title").textContent = title; $("runbook-text").textContent = text; };
  show(kind, "asking…");
  $("runbook").dataset.kind = kind;
  $("runbook").showModal();
  const page = await ask("runbook?alarm=" + encodeURIComponent(kind)).catch(e => ({ alarm: kind, text: e.message }));
  if ($("runbook").dataset.kind === kind) show(page.alarm, page.text);
}

// --- keys, clicks, themes ---

function show(tab) {
  state.tab = tab;
  try { history.replaceState(null, "", "#" + tab); } catch { /* a frame without a history */ }
  render();
  poll();
}

function theme(which) {
  document.documentElement.dataset.theme = which;
}

function toggleTheme() {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  theme(next);
  try { localStorage.setItem("coterie-theme", next); } catch { /* not kept */ }
}

document.addEventListener("click", e => {
  const b = e.target.closest("button");
  if (!b) return;
  if (b.dataset.tab) show(b.dataset.tab);
  else if (b.dataset.runbook) runbook(b.dataset.runbook);
  else if (b.dataset.do) act({ ...b.dataset });
  else if (b.dataset.shards) {
    turn(state.shardsType === b.dataset.shards ? "" : b.dataset.shards, 0);
  } else if (b.dataset.limit) limit(b.dataset.limit);
  else if (b.id === "shards-stop") act({ do: "stop-shards", type: state.shardsType, shards: [...state.picked] });
  else if (b.id === "shards-move") act({ do: "move", type: state.shardsType, shards: [...state.picked], node: $("shards-to").value });
});
document.addEventListener("change", e => { if (e.target.dataset.pick) pick(e.target.dataset.pick, e.target.checked); });
$("theme").addEventListener("click", toggleTheme);
$("prepare").addEventListener("click", () => act({ do: "prepare-shutdown" }));
$("help").addEventListener("click", () => $("keys").showModal());
$("pause").addEventListener("click", pause);
$("shards-back").addEventListener("click", () => turn(state.shardsType, Math.max(0, state.shardsFrom - pageSize)));
$("shards-next").addEventListener("click", () => turn(state.shardsType, state.shardsFrom + pageSize));
$("find").addEventListener("submit", e => {
  e.preventDefault();
  if ($("find-id").value) find($("find-type").value, $("find-id").value);
});
$("only-warn").addEventListener("change", render);
$("event-filter").addEventListener("input", render);
document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });

function pause() { state.paused = !state.paused; render(); poll(); }

document.addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, select, textarea, dialog[open]")) return;
  const tabs = ["nodes", "data", "types", "times", "events"];
  switch (e.key) {
    case "1": case "2": case "3": case "4": case "5": show(tabs[e.key - 1]); break;
    case "/": e.preventDefault(); show("types"); $("find-id").focus(); break;
    case "d": toggleTheme(); break;
    case "p": pause(); break;
    case "?": $("keys").showModal(); break;
  }
});

let kept = null;
try { kept = localStorage.getItem("coterie-theme"); } catch { /* none */ }
const dark = matchMedia("(prefers-color-scheme: dark)");
theme(kept || (dark.matches ? "dark" : "light"));
dark.addEventListener("change", e => { if (!kept) theme(e.matches ? "dark" : "light"); });
if (["nodes", "data", "types", "times", "events"].includes(location.hash.slice(1))) state.tab = location.hash.slice(1);
render();
poll();
