// Drives the HTML of one serve panel. The widget is never displayed: this finds the panel's root by its mark, each
// time it draws, because an update of the output puts a new one in the place of the old.

const INKS = {
  light: { accent: "#1565c0", good: "#1a7a3f", warn: "#8a5200", error: "#b3261e", on: "#ffffff", frame: "#868d95", line: "#c9cdd2" },
  dark: { accent: "#7cb7f5", good: "#6fce93", warn: "#f0bd62", error: "#ff9c94", on: "#0d1520", frame: "#72787f", line: "#55595f" },
};

const STYLE = `
.uo-serve[data-live]{container-type:inline-size;font-variant-numeric:tabular-nums;font-family:var(--jp-ui-font-family,system-ui,sans-serif)}
.uo-serve[data-live] .uo-static,.uo-serve[data-live] details.uo-fold>summary{display:none!important}
.uo-serve[data-live] .uo-good{color:var(--uo-good)}
.uo-serve[data-live] .uo-warn{color:var(--uo-warn)}
.uo-serve[data-live] .uo-error{color:var(--uo-error)}
.uo-serve[data-live] .uo-accent{color:var(--uo-accent)}
.uo-serve[data-live] :is(.uo-warn,.uo-error) .uo-time{opacity:1!important}
.uo-serve[data-live] .uo-row{background-color:transparent!important}
.uo-serve[data-live] .uo-log{height:148px!important}
.uo-serve[data-live] .uo-number{font-variant-numeric:tabular-nums}
.uo-serve[data-live] .uo-link{color:var(--uo-accent)!important;text-decoration:none}
.uo-serve[data-live] .uo-link:hover{text-decoration:underline}
.uo-serve[data-live] button{font:500 12px/16px var(--jp-ui-font-family,system-ui,sans-serif);box-sizing:border-box;height:26px;
  padding:0 10px;margin:0 0 0 8px;border-radius:4px;border:1px solid var(--uo-line);background:transparent;color:inherit;
  cursor:pointer;vertical-align:middle;white-space:nowrap;transition:background-color 120ms}
.uo-serve[data-live] button:hover{background:color-mix(in srgb,currentColor 8%,transparent)}
.uo-serve[data-live] .uo-line{display:flex;flex-wrap:wrap;align-items:center}
.uo-serve[data-live] .uo-first{flex:1 1 auto}
.uo-serve[data-live] .uo-right{order:2;margin-left:auto!important}
.uo-serve[data-live] .uo-form{display:flex}
.uo-serve[data-live] .uo-plan{flex:1 1 0}
.uo-serve[data-live] button[data-tone=link]{border-color:transparent;color:var(--uo-accent);padding:0}
.uo-serve[data-live] button[data-tone=quiet]{border-color:transparent;font-weight:400}
.uo-serve[data-live] button[data-tone=stop]{color:var(--uo-error);border-color:color-mix(in srgb,var(--uo-error) 45%,transparent)}
.uo-serve[data-live] button[data-tone=stop]::before{content:"";display:inline-block;width:8px;height:8px;margin:0 7px 0 0;background:currentColor}
.uo-serve[data-live] button[data-tone=main]{color:var(--uo-on);background:var(--uo-accent);border-color:var(--uo-accent)}
.uo-serve[data-live] .uo-start button{width:100%;height:32px;margin:0}
.uo-serve[data-live] .uo-steps button{margin:0 8px 4px 0}
.uo-serve[data-live] button:disabled{opacity:.6;cursor:default}
.uo-serve[data-live] :is(button,input,a,.uo-opt):focus-visible{outline:2px solid var(--uo-accent);outline-offset:2px}
.uo-serve[data-live] .uo-kinds .uo-opt:focus-visible{outline-offset:-2px}
.uo-serve[data-live] input{font:400 12px/16px var(--jp-ui-font-family,system-ui,sans-serif);box-sizing:border-box;height:26px;width:150px;
  padding:0 8px;margin:0;border-radius:4px;border:1px solid var(--uo-frame);background:transparent;color:inherit;vertical-align:middle}
.uo-serve[data-live] input::placeholder{color:inherit;opacity:.72}
.uo-serve[data-live] .uo-long input{width:100%}
.uo-serve[data-live] .uo-long{width:100%;max-width:420px}
.uo-serve[data-live] .uo-opt{cursor:pointer}
.uo-serve[data-live] span.uo-opt.uo-on{color:var(--uo-accent);border-bottom-color:var(--uo-accent)!important}
.uo-serve[data-live] .uo-opt:not(.uo-on):hover{background-color:color-mix(in srgb,currentColor 8%,transparent)!important}
.uo-serve[data-live] mark{background:#ffe08a;color:#1b1f24}
.uo-serve[data-live] .uo-found{margin:0 0 0 8px;font-size:12px;opacity:.78}
.uo-serve[data-live] .uo-more{position:absolute;right:22px;bottom:8px;background:var(--uo-accent);color:var(--uo-on);border-color:var(--uo-accent)}
.uo-serve[data-live] .uo-more:hover{background:var(--uo-accent)}
.uo-serve[data-live] .uo-word{font-size:12px;margin:0 0 0 10px;color:var(--uo-warn)}
.uo-serve[data-live] .uo-turn>img{animation:uo-turn 1.1s linear infinite}
@keyframes uo-turn{to{transform:rotate(1turn)}}
@media (prefers-reduced-motion:reduce){.uo-serve[data-live] .uo-turn>img{animation:none}}
@container (max-width:640px){
  .uo-serve[data-live] .uo-form{display:block}
  .uo-serve[data-live] .uo-choices{width:100%!important;float:none!important;min-width:0!important}
  .uo-serve[data-live] .uo-plan{border-left:0!important;border-top:1px solid #8080805c}
  .uo-serve[data-live] .uo-label{float:none!important;line-height:20px!important}
  .uo-serve[data-live] .uo-figure{width:50%!important;min-width:0!important}
  .uo-serve[data-live] .uo-figure:nth-child(3){border-left:0!important}
  .uo-serve[data-live] .uo-figure:nth-child(n+3):not(:last-child){border-top:1px solid #8080805c}
  .uo-serve[data-live] .uo-wide{display:none}
  .uo-serve[data-live] input{width:120px}
}`;

function luminance(element) {
  for (let node = element; node; node = node.parentElement) {
    const [r, g, b, a = 1] = (getComputedStyle(node).backgroundColor.match(/[\d.]+/g) || []).map(Number);
    if (r === undefined || a < 0.5) continue;
    const linear = [r, g, b].map((v) => (v / 255 <= 0.03928 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  }
  return 1;
}

function paint(root) {
  const inks = INKS[luminance(root) > 0.18 ? "light" : "dark"];
  for (const [name, value] of Object.entries(inks)) root.style.setProperty(`--uo-${name}`, value);
}

async function copy(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  area.style.position = "fixed";
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

function initialize({ model }) {
  const seen = new Set(); // numbers of messages that Python has taken
  // What a reader has done survives the update of the output.
  const kept = { find: "", hit: 0, logOpen: false, held: null, words: "", stopping: false };
  let seq = 0;
  let closed = false;

  if (!document.querySelector("style[data-uo-serve]")) {
    const style = document.createElement("style");
    style.dataset.uoServe = "";
    style.textContent = STYLE;
    document.head.append(style);
  }

  const roots = () => document.querySelectorAll(`[data-uid="${CSS.escape(model.get("uid"))}"]`);
  const later = (ms) => new Promise((done) => setTimeout(done, ms));

  function send(content) {
    seq += 1;
    try {
      model.send({ ...content, seq });
    } catch {
      say("The kernel that this belongs to has gone.");
    }
    return seq;
  }

  async function taken(number, ms) {
    for (let waited = 0; waited < ms && !seen.has(number); waited += 25) await later(25);
    return seen.has(number);
  }

  async function ping() {
    // The first message of a kernel's first widget may wait for the end of the cell: so more than one is sent.
    for (let tries = 0; tries < 8 && !seen.size && !closed; tries += 1) {
      send({ kind: "ping" });
      await later(200);
    }
  }

  function say(words) {
    kept.words = words;
    for (const root of roots()) tell(root);
  }

  function tell(root) {
    let place = root.querySelector(".uo-word");
    if (!kept.words) return place?.remove();
    if (!place) {
      place = document.createElement("span");
      place.className = "uo-word";
      place.setAttribute("role", "status");
      root.querySelector(".uo-line")?.append(place);
    }
    place.textContent = kept.words;
  }

  async function stop() {
    kept.stopping = true;
    refresh();
    const number = send({ kind: "press", key: "stop" });
    if (await taken(number, 700)) return;
    const kernel = model.widget_manager?.kernel;
    if (model.get("in_cell") && typeof kernel?.interrupt === "function") {
      try {
        return await kernel.interrupt();
      } catch {
        // then the words
      }
    }
    kept.stopping = false;
    refresh();
    say(model.get("in_cell") ? "Interrupt the cell; pages that are done are kept." : "Stops when the cell that runs has ended.");
  }

  async function press(key, value = "") {
    if (key === "stop") return stop();
    if (key === "log") {
      kept.logOpen = !kept.logOpen;
      return refresh();
    }
    if (key.startsWith("copy")) return copy(model.get("copies")[key] ?? logText());
    const number = send({ kind: "press", key, value });
    if (!(await taken(number, 1500))) say("Another cell runs; this comes after it.");
    else if (kept.words) say("");
  }

  const logText = () => model.get("log").map(([clock, level, , text]) => `${clock} ${level ? level.padEnd(5) + " " : ""}${text}`).join("\n");

  // ------------------------------------------------------------------ log
  function row([clock, level, tone, text]) {
    const line = document.createElement("span");
    line.className = tone ? `uo-row uo-${tone}` : "uo-row";
    line.style.display = "block";
    const time = document.createElement("span");
    time.className = "uo-time";
    time.style.opacity = "0.78";
    time.textContent = clock;
    line.append(time, ` ${level ? level.padEnd(5) + " " : ""}${text}`);
    return line;
  }

  function drawLog(root) {
    const pane = root.querySelector(".uo-log");
    const count = model.get("log_count");
    if (!pane || !count) return;
    const lines = model.get("log");
    const before = Number(pane.dataset.count || -1);
    const fresh = before < 0 || count - before >= lines.length ? lines : count > before ? lines.slice(before - count) : [];
    const atFoot = kept.held === null;
    if (fresh === lines) pane.replaceChildren();
    pane.append(...fresh.map(row));
    let gone = 0;
    while (pane.childElementCount > lines.length) {
      gone += pane.firstElementChild.offsetHeight;
      pane.firstElementChild.remove();
    }
    pane.dataset.count = count;
    if (!atFoot && before >= 0 && count > before) kept.held.fresh += count - before;
    if (fresh.length && kept.find) markAll(root);
    if (atFoot) pane.scrollTop = pane.scrollHeight;
    else pane.scrollTop = before < 0 ? kept.held.top : pane.scrollTop - gone;
    more(root);
  }

  function more(root) {
    const place = root.querySelector(".uo-more");
    if (!place) return;
    const fresh = kept.held?.fresh || 0;
    place.hidden = !fresh;
    place.style.display = fresh ? "" : "none";
    place.textContent = fresh === 1 ? "1 new line" : `${fresh} new lines`;
  }

  function markAll(root) {
    const wanted = kept.find.toLowerCase();
    const hits = [];
    for (const line of root.querySelectorAll(".uo-log .uo-row")) {
      for (const mark of line.querySelectorAll("mark")) mark.replaceWith(mark.textContent);
      line.normalize();
      if (!wanted || !line.textContent.toLowerCase().includes(wanted)) continue;
      hits.push(line);
      const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const at = node.data.toLowerCase().indexOf(wanted);
        if (at < 0) continue;
        const rest = node.splitText(at);
        rest.splitText(wanted.length);
        const mark = document.createElement("mark");
        rest.replaceWith(mark);
        mark.textContent = rest.data;
        walker.currentNode = mark.lastChild;
      }
    }
    const found = root.querySelector(".uo-found");
    if (found) found.textContent = !wanted ? "" : hits.length ? `${Math.min(kept.hit + 1, hits.length)} of ${hits.length}` : "not found";
    return hits;
  }

  function toHit(root, step) {
    const hits = markAll(root);
    if (!hits.length) return;
    kept.hit = (kept.hit + step + hits.length) % hits.length;
    markAll(root);
    const pane = root.querySelector(".uo-log");
    pane.scrollTop = hits[kept.hit].offsetTop - pane.offsetTop - 60;
  }

  // ------------------------------------------------------------------ what the HTML only names becomes what it is
  function makeButton(place) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = place.textContent;
    Object.assign(made.dataset, place.dataset);
    made.addEventListener("click", (event) => {
      event.preventDefault();
      const { a, ask, v } = made.dataset;
      if (ask && made.textContent !== ask) {
        made.textContent = ask;
        return;
      }
      const [key, value] = a.includes(":") ? a.split(/:(.*)/s) : [a, v];
      press(key, value);
      if (key.startsWith("copy")) {
        const label = made.textContent;
        made.textContent = "Copied";
        setTimeout(() => (made.textContent = label), 1200);
      }
    });
    place.replaceWith(made);
  }

  function makeField(root, place) {
    const input = document.createElement("input");
    const { k, kind, hint, value } = place.dataset;
    input.type = kind;
    input.placeholder = hint;
    input.setAttribute("aria-label", hint);
    input.dataset.a = `field-${k}`;
    input.value = k === "find" ? kept.find : value || "";
    input.spellcheck = false;
    if (k === "find") {
      const found = document.createElement("span");
      found.className = "uo-found";
      place.before(found);
      input.addEventListener("input", () => {
        kept.find = input.value;
        kept.hit = 0;
        markAll(root);
      });
      input.addEventListener("keydown", (event) => {
        if (event.key === "Enter") toHit(root, event.shiftKey ? -1 : 1);
        if (event.key === "Escape") {
          input.value = kept.find = "";
          markAll(root);
        }
      });
    } else {
      input.addEventListener("change", () => input.value !== (value || "") && press(k, input.value));
      input.addEventListener("keydown", (event) => event.key === "Enter" && input.blur());
    }
    place.style.display = "inline-block";
    place.replaceChildren(input);
  }

  function makeGroup(group) {
    group.setAttribute("role", "radiogroup");
    group.setAttribute("aria-label", group.dataset.group);
    const options = [...group.querySelectorAll(".uo-opt")];
    const on = options.find((option) => option.classList.contains("uo-on")) || options[0];
    for (const option of options) {
      option.setAttribute("role", "radio");
      option.setAttribute("aria-checked", String(option.classList.contains("uo-on")));
      option.tabIndex = option === on ? 0 : -1;
      option.dataset.a = `${option.dataset.k}=${option.dataset.v}`;
      const choose = (chosen) => {
        kept.focus = chosen.dataset.a;
        if (!chosen.classList.contains("uo-on")) press(chosen.dataset.k, chosen.dataset.v);
      };
      option.addEventListener("click", () => choose(option));
      option.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (step) {
          const next = options[(options.indexOf(option) + step + options.length) % options.length];
          next.focus();
          choose(next);
        } else if (event.key === " " || event.key === "Enter") choose(option);
        else return;
        event.preventDefault();
      });
    }
  }

  function dress(root) {
    root.dataset.live = "";
    // Lab's own keys would cut the cell while somebody types in the panel.
    root.dataset.lmSuppressShortcuts = "true";
    for (const place of root.querySelectorAll(".uo-btn")) makeButton(place);
    for (const place of root.querySelectorAll(".uo-field")) makeField(root, place);
    for (const group of root.querySelectorAll("[data-group]")) makeGroup(group);
    const pane = root.querySelector(".uo-log");
    if (pane) {
      pane.parentElement.style.position = "relative";
      pane.tabIndex = 0;
      pane.setAttribute("aria-label", "Log");
      const jump = document.createElement("button");
      jump.type = "button";
      jump.className = "uo-more";
      jump.style.display = "none";
      jump.addEventListener("click", () => {
        kept.held = null;
        pane.scrollTop = pane.scrollHeight;
        more(root);
      });
      pane.after(jump);
      pane.addEventListener("scroll", () => {
        const foot = pane.scrollHeight - pane.scrollTop - pane.clientHeight < 24;
        if (!pane.isConnected) return;
        if (foot) kept.held = null;
        else kept.held = { top: pane.scrollTop, fresh: kept.held?.fresh || 0 };
        more(root);
      });
    }
    paint(root);
  }

  // ------------------------------------------------------------------ drawing
  function catchUp() {
    // After a reload of the page its updates no longer reach the output: the drawing comes this way then.
    for (const root of roots()) {
      if (Number(root.dataset.rev || 0) >= model.get("revision")) continue;
      const made = document.createElement("template");
      made.innerHTML = model.get("html");
      root.replaceWith(made.content);
    }
  }

  let due = 0;
  function expect() {
    clearTimeout(due);
    due = setTimeout(() => !closed && catchUp(), 1200);
  }

  function drawRoot(root) {
    const fresh = !("live" in root.dataset);
    if (fresh) dress(root);
    const text = model.get("text");
    for (const place of root.querySelectorAll("[data-f]")) {
      const value = text[place.dataset.f];
      if (value !== undefined && place.textContent !== value) place.textContent = value;
    }
    const share = model.get("share");
    for (const bar of root.querySelectorAll("[data-w]")) {
      if (share[bar.dataset.w] !== undefined) bar.style.width = `${share[bar.dataset.w]}%`;
    }
    const fold = root.querySelector("details.uo-fold");
    if (fold) fold.open = kept.logOpen;
    for (const made of root.querySelectorAll("button[data-a=log]")) made.setAttribute("aria-expanded", String(kept.logOpen));
    for (const made of root.querySelectorAll("button[data-a=stop]")) {
      made.disabled = kept.stopping;
      if (kept.stopping) made.textContent = "Stopping";
      else if (made.textContent === "Stopping") made.textContent = "Stop";
    }
    drawLog(root);
    tell(root);
    if (fresh && kept.focus) {
      root.querySelector(`[data-a="${CSS.escape(kept.focus)}"]`)?.focus({ preventScroll: true });
    }
  }

  function refresh() {
    if (!closed) for (const root of roots()) drawRoot(root);
  }

  document.addEventListener("focusin", remember);
  function remember(event) {
    const root = event.target.closest?.("[data-uid]");
    // Lab's selectors can match the focused element itself, so the mark on the root alone is not enough.
    if (root?.dataset.uid === model.get("uid")) event.target.dataset.lmSuppressShortcuts = "true";
    kept.focus = root && root.dataset.uid === model.get("uid") ? event.target.dataset.a : null;
  }

  let waiting = false;
  function soon() {
    if (waiting || closed) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      refresh();
    });
  }

  const watch = new MutationObserver(() => {
    if ([...roots()].some((root) => !("live" in root.dataset))) soon();
  });
  watch.observe(document.body, { childList: true, subtree: true });
  const theme = new MutationObserver(() => roots().forEach(paint));
  theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-name", "data-jp-theme-light", "class"] });
  const onMessage = (content) => content?.kind === "ack" && seen.add(content.seq);
  const onPhase = () => {
    // Another phase: what was said and pressed before it is over.
    kept.stopping = false;
    kept.words = "";
  };
  model.on("msg:custom", onMessage);
  model.on("change:text change:share change:log", soon);
  model.on("change:copies", onPhase);
  model.on("change:revision", expect);
  soon();
  expect();
  ping();

  return () => {
    closed = true;
    for (const root of roots()) {
      // Nobody answers a press any more: what stands there for a page without script is shown again.
      delete root.dataset.live;
      for (const made of root.querySelectorAll("button,input")) made.remove();
    }
    watch.disconnect();
    theme.disconnect();
    document.removeEventListener("focusin", remember);
    model.off("msg:custom", onMessage);
    model.off("change:text change:share change:log", soon);
    model.off("change:copies", onPhase);
    model.off("change:revision", expect);
    clearTimeout(due);
  };
}

export default { initialize };
