// Draws and links one page view. What it shows was drawn and escaped by Python; it makes no HTML of page text.
//
// Two entries: the inline script of a stored form (the section `core`, with a line that starts it), and `initialize`
// of a widget that is never displayed (the whole file). Both drive the same root.

//#section core
// Family -> colour on paper and on a light ground, colour on a dark ground, line (as labels.py has them).
const FAMILIES = {
  title: ["#1b3f7d", "#a9d2ff", "1.5px solid"],
  text: ["#5f708c", "#b4bcc8", "1px solid"],
  list: ["#0f7f5c", "#4fdcae", "1px solid"],
  table: ["#8a2c0c", "#f4906a", "3px double"],
  equation: ["#9330b8", "#cf6ff0", "1px dashed"],
  figure: ["#946800", "#f2d06b", "1px solid"],
  caption: ["#946800", "#f2d06b", "1px dashed"],
  code: ["#5f708c", "#b4bcc8", "1px solid"],
  furniture: ["#6c737b", "#8f979f", "1px dotted"],
};

// Role -> on a light ground, on a dark one.
const INKS = {
  ground: ["#ffffff", "#111111"],
  second: ["#fafafa", "#181818"],
  mat: ["#eef0f2", "#1d1f21"],
  ink: ["#1b1f24", "#e8eaed"],
  soft: ["#515861", "#b3b9c0"],
  hint: ["#656c75", "#949ba3"],
  hair: ["#e3e5e8", "#2b2e31"],
  line: ["#c9cdd2", "#45494e"],
  frame: ["#868d95", "#72787f"],
  accent: ["#1565c0", "#7cb7f5"],
  tint: ["#e8f1fb", "#16283b"],
  on: ["#ffffff", "#0d1520"],
  good: ["#1a7a3f", "#6fce93"],
  warn: ["#8a5200", "#f0bd62"],
  "warn-ground": ["#fff5e0", "#2c230f"],
  "warn-line": ["#e6c27a", "#5f4b1e"],
  error: ["#b3261e", "#ff9c94"],
  "error-ground": ["#fdeeed", "#331614"],
  "error-line": ["#eeb4b0", "#6d2f2b"],
  a: ["#ffeec2", "#453610"],
  b: ["#dcebff", "#14365c"],
};

// Letter of a status in the document's data -> its word, tone and icon.
const STATUS = {
  o: ["ok", "good", "M3 8.5 6.5 12 13 4.5"],
  l: ["looping", "warn", "M13.2 8.6A5.3 5.3 0 1 1 11.7 4.2M12.2 1.6v3.2H9"],
  t: ["truncated", "warn", "M2.5 3.5h11M2.5 8h11M2.5 12.5h4.5"],
  e: ["empty", "warn", "M4 2h5.5L12.5 5v9H4z"],
  u: ["unboxed", "warn", "M2.7 5V2.7H5m3 0h2m3.3 2.3V2.7H11m2.3 5v2m-2.3 3.6h2.3V11m-5 2.3h-2M5 13.3H2.7V11m0-3V6"],
  m: ["missing", "error", "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2m0 2.8v4M8 11v.3"],
  f: ["failed", "error", "m4 4 8 8m0-8-8 8"],
  r: ["reading", "accent", "M8 2.2A5.8 5.8 0 1 1 2.2 8"],
  w: ["waiting", "hint", "M8 4.4V8l2.4 1.6M8 1.8a6.2 6.2 0 1 1 0 12.4A6.2 6.2 0 0 1 8 1.8"],
};

const ICONS = {
  left: "m10 3-5 5 5 5",
  right: "m6 3 5 5-5 5",
  up: "m3 10 5-5 5 5",
  down: "m3 6 5 5 5-5",
  find: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9m3.4 7.9 3.4 3.4",
  more: "M3 8h.1M8 8h.1M13 8h.1",
  copy: "M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1",
  table: "M2.5 3.5h11v9h-11zM2.5 6.5h11M6.5 6.5v6",
  crop: "M4.5 1.5v10h10M1.5 4.5h10v10",
  pen: "M3 13l.7-3 7-7 2.3 2.3-7 7z",
  again: "M13.2 8.6A5.3 5.3 0 1 1 11.7 4.2M12.2 1.6v3.2H9",
  undo: "M3 6h7a3.3 3.3 0 0 1 0 7H6M5.5 3.5 3 6l2.5 2.5",
  close: "m4 4 8 8m0-8-8 8",
};

const KEYS = [
  ["Tab", "next part of the view"],
  ["↓ →", "next block"],
  ["↑ ←", "previous block"],
  ["Home End", "first, last block"],
  ["Enter", "select; on a label switch it on or off"],
  ["Shift+Enter", "on a label: this label alone"],
  ["Esc", "leave search, selection, view"],
  ["[ ]", "previous, next page"],
  ["{ }", "previous, next page that is not ok"],
  ["/", "search; Enter goes through the hits"],
  ["m t r", "markdown, text, raw"],
  ["c", "copy block, or page when none is selected"],
  ["x", "copy table as TSV, equation as LaTeX"],
  ["+ − 0", "zoom in, out, fit"],
  ["o", "numbers on the page on or off"],
  ["?", "this list"],
];

const NARROW = 640; // px of the output from which on one pane is shown
const PITCH = 62; // px from one thumbnail to the next
const MOST_MARKS = 2000;
const MOST_BAD = 3; // pages that are not ok in the list above the view, before it is folded
const LONGEST_SEARCHED = 200000; // characters of one text

// What the other sections add to a view: functions that get it when it is built.
const EXTRAS = [];

const STYLE = `
.uo-root[data-on] .uo-twin{display:none!important}
.uo-root[data-on] .uo-summary a{color:var(--uo-link)}
.uo-chrome.uo-unfold{padding:0 14px;border-top:1px solid #8080805c}
.uo-chrome,.uo-chrome *{box-sizing:border-box}
.uo-chrome{position:relative;font:400 12px/16px var(--jp-ui-font-family,system-ui,sans-serif);color:var(--uo-ink);background:var(--uo-ground);font-variant-numeric:tabular-nums;overflow:hidden;text-align:left;
  button,input,select,textarea{font:inherit;color:inherit;margin:0}
  button{display:inline-flex;align-items:center;justify-content:center;gap:6px;height:26px;min-width:24px;padding:0 8px;border:1px solid transparent;border-radius:4px;background:none;cursor:pointer;white-space:nowrap;font-weight:500;transition:background-color .12s}
  button:hover{background:color-mix(in srgb,var(--uo-ink) 8%,transparent)}
  button:disabled{color:var(--uo-hint);cursor:default;background:none}
  button.uo-framed{border-color:var(--uo-line)}
  button.uo-main{background:var(--uo-accent);color:var(--uo-on)}
  button.uo-link{padding:0;height:auto;min-height:24px;color:var(--uo-accent);font-weight:400}
  button.uo-link:hover{background:none;text-decoration:underline}
  button[aria-pressed=true].uo-toggle{background:color-mix(in srgb,var(--uo-ink) 9%,transparent)}
  :is(button,input,select,textarea,a,[tabindex]):focus-visible{outline:2px solid var(--uo-accent);outline-offset:1px}
  svg{flex:none;width:14px;height:14px;fill:none;stroke:currentColor;stroke-width:1.5;stroke-linecap:round;stroke-linejoin:round}
  code,kbd{font:400 11px/16px var(--jp-code-font-family,ui-monospace,monospace);background:none;color:inherit;padding:0;border:0}
  kbd{border:1px solid var(--uo-line);border-radius:3px;padding:0 5px;color:var(--uo-soft)}
  .uo-unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
  .uo-spring{flex:1 1 0}
  .uo-good{color:var(--uo-good)}.uo-warn{color:var(--uo-warn)}.uo-error{color:var(--uo-error)}.uo-accent{color:var(--uo-accent)}.uo-hint,.uo-waits{color:var(--uo-hint)}
  .uo-bar{display:flex;align-items:center;gap:4px;min-height:40px;padding:0 10px 0 12px;border-bottom:1px solid var(--uo-hair)}
  .uo-name{font-size:13px;line-height:20px;font-weight:600;margin:0 8px 0 0;min-width:40px;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
  .uo-pager{display:flex;align-items:center;flex:none;color:var(--uo-soft);gap:2px}
  .uo-pager input{width:var(--uo-digits,34px);height:26px;padding:0 2px;text-align:center;font-weight:600;color:var(--uo-ink);background:none;border:1px solid var(--uo-frame);border-radius:4px}
  .uo-pager span{margin:0 2px 0 4px;white-space:nowrap}
  .uo-pill{display:inline-flex;align-items:center;gap:5px;flex:none;height:22px;padding:0 9px;margin:0 0 0 6px;border:1px solid var(--uo-hair);border-radius:11px}
  .uo-pill.uo-warn{background:var(--uo-warn-ground);border-color:var(--uo-warn-line)}
  .uo-pill.uo-error{background:var(--uo-error-ground);border-color:var(--uo-error-line)}
  .uo-pill.uo-accent{background:var(--uo-tint);border-color:var(--uo-tint)}
  .uo-find{display:flex;align-items:center;flex:0 1 190px;min-width:0;height:26px;padding:0 2px 0 8px;border:1px solid var(--uo-frame);border-radius:4px;gap:4px;color:var(--uo-soft)}
  .uo-find:focus-within{outline:2px solid var(--uo-accent);outline-offset:0}
  .uo-find input{flex:1 1 60px;min-width:0;width:60px;height:22px;border:0;padding:0;background:none;outline:none!important;color:var(--uo-ink)}
  .uo-find input::placeholder{color:var(--uo-hint);opacity:1}
  .uo-find button{min-width:24px;height:24px;padding:0}
  .uo-find button svg{width:11px;height:11px}
  .uo-found{white-space:nowrap;color:var(--uo-hint)}
  .uo-note{display:flex;flex-wrap:wrap;align-items:center;gap:4px 12px;min-height:40px;padding:6px 12px;border-bottom:1px solid var(--uo-warn-line);background:var(--uo-warn-ground)}
  .uo-note.uo-error{color:var(--uo-ink);border-color:var(--uo-error-line);background:var(--uo-error-ground)}
  .uo-note>span{flex:1 1 260px;overflow-wrap:anywhere}
  .uo-note button{background:var(--uo-ground)}
  .uo-body{display:flex;height:var(--uo-tall,480px)}
  .uo-left{display:flex;flex-direction:column;flex:0 0 clamp(300px,43.4%,560px);min-width:0;border-right:1px solid var(--uo-hair)}
  .uo-right{display:flex;flex-direction:column;flex:1 1 0;min-width:0}
  .uo-chips,.uo-tabs{display:flex;align-items:center;flex:none;min-height:36px;padding:0 12px;border-bottom:1px solid var(--uo-hair)}
  .uo-chips{gap:0 2px;padding:0 8px;color:var(--uo-soft);overflow:hidden}
  .uo-chips.uo-all{flex-wrap:wrap}
  .uo-chips button{font-weight:400;padding:0 4px;gap:5px;flex:none}
  .uo-chips button[aria-pressed=false]{text-decoration:line-through;color:var(--uo-hint)}
  .uo-chips button[aria-pressed=false] .uo-tile{color:var(--uo-hint);border-color:var(--uo-hint);background:none}
  .uo-tile{font:600 10.5px/13px var(--jp-code-font-family,ui-monospace,monospace);display:inline-block;min-width:19px;padding:0 2px;border:var(--b);border-color:var(--c);border-radius:2px;color:var(--c);text-align:center;background:color-mix(in srgb,var(--c) 3%,transparent)}
  .uo-tabs{gap:2px;align-items:stretch;padding:0 8px 0 12px;overflow:hidden}
  .uo-tabs [role=tablist]{display:flex;flex:none}
  .uo-tabs [role=tab]{height:36px;border:0;border-radius:0;padding:0 10px;font-weight:400;color:var(--uo-soft);border-bottom:2px solid transparent;border-top:2px solid transparent}
  .uo-tabs [aria-selected=true]{color:var(--uo-ink);font-weight:600;border-bottom-color:var(--uo-accent)}
  .uo-tabs [role=tab]:focus-visible{outline-offset:-3px}
  .uo-actions{display:flex;align-items:center;margin-left:auto;min-width:0}
  .uo-actions button{padding:0 7px;font-weight:400}
  .uo-actions>span{color:var(--uo-soft);margin:0 4px 0 0;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
  .uo-stand{position:relative;flex:1 1 0;min-height:0;display:flex}
  .uo-mat{isolation:isolate;flex:1 1 0;min-width:0;overflow:auto;padding:16px;background:var(--uo-mat)}
  .uo-mat .uo-paper{float:none!important;width:100%!important;max-width:none!important;min-width:0!important;margin:0!important;border:1px solid var(--uo-line)!important;box-shadow:0 1px 4px #00000024}
  .uo-zoom{position:absolute;z-index:1;right:10px;bottom:10px;display:flex;background:var(--uo-ground);border:1px solid var(--uo-line);border-radius:4px}
  .uo-zoom button{color:var(--uo-soft);font-weight:400}
  .uo-box{cursor:pointer;outline-offset:2px!important}
  .uo-box:is(.uo-hot,.uo-sel)::after{content:"";position:absolute;inset:-2px;border:2px solid var(--p);box-shadow:0 0 0 1.5px #fff;background:color-mix(in srgb,var(--p) 11%,transparent);pointer-events:none}
  .uo-box:is(.uo-hot,.uo-sel)>.uo-tag{background-color:var(--p)!important;color:#fff!important;z-index:3}
  &.uo-plain .uo-box:not(.uo-hot,.uo-sel)>.uo-tag{display:none}
  .uo-edited>.uo-tag::after,.uo-edited>.uo-no::after{content:"•";margin-left:2px}
  .uo-off{display:none!important}
  .uo-strike{position:absolute;background:#ffe08a;mix-blend-mode:multiply;pointer-events:none}
  .uo-strike.uo-now{background:#ffb52e}
  .uo-text{flex:1 1 0;min-height:0;overflow:auto;padding:8px 0 24px;font:400 13px/19.5px var(--jp-content-font-family,system-ui,sans-serif);overflow-wrap:break-word}
  .uo-right>.uo-fade{position:absolute;right:14px;bottom:0;left:0;height:36px;pointer-events:none;background:linear-gradient(transparent,var(--uo-ground))}
  .uo-text .uo-row{position:relative;margin:0!important;padding:4px 12px 4px 57px!important;border-left:2px solid transparent;cursor:default;background-color:transparent!important;transition:background-color .12s}
  .uo-text .uo-row>.uo-no{left:0!important;top:4px!important;width:46px!important;line-height:19px!important;color:var(--uo-soft);font:400 11px/19px var(--jp-code-font-family,ui-monospace,monospace)!important;opacity:1!important}
  .uo-text .uo-row+.uo-row[data-f=title]{padding-top:12px!important}
  .uo-text .uo-row+.uo-row[data-f=title]>.uo-no{top:12px!important}
  .uo-no b{font-weight:600;color:var(--c)}
  .uo-text .uo-row>.uo-text{border:0!important;padding:0!important;overflow:visible;font-family:inherit;min-height:19px!important}
  .uo-row:not([style])>.uo-no{position:absolute;text-align:right;background:none!important;padding:0!important}
  .uo-row:not([style])>.uo-text{display:block;white-space:pre-line}
  .uo-row:not([style])[data-f=title]>.uo-text{font-size:15px;font-weight:600}
  .uo-row:not([style]):is([data-f=caption],[data-f=furniture])>.uo-text{font-size:12px;line-height:18px;opacity:.78}
  .uo-text .uo-row[data-l=algorithm]>.uo-text{white-space:pre-wrap}
  .uo-text .uo-row[data-f=code]>.uo-text{font-family:var(--jp-code-font-family,ui-monospace,monospace)}
  .uo-row.uo-hot,.uo-row.uo-sel{background-color:color-mix(in srgb,var(--c) var(--uo-strength),transparent)!important;border-left-color:var(--c)!important}
  .uo-row.uo-hot>.uo-no,.uo-row.uo-sel>.uo-no{color:var(--uo-ink)}
  .uo-row:is(.uo-hot,.uo-sel)>.uo-no b{color:color-mix(in srgb,var(--c) 70%,var(--uo-ink))}
  .uo-row:focus-visible{outline-offset:-2px!important}
  .uo-row mark,.uo-flat mark{background:#ffe08a;color:#1b1f24;padding:0;border-radius:2px}
  mark.uo-now{background:#ffb52e!important}
  .uo-row table{color:inherit}
  .uo-row .uo-scroll tr>:first-child{position:sticky;left:0;background:var(--uo-ground)}
  .uo-row:is(.uo-hot,.uo-sel) .uo-scroll tr>:first-child{background:color-mix(in srgb,var(--c) var(--uo-strength),var(--uo-ground))}
  .uo-text .uo-math{opacity:1}
  .uo-text .uo-cut{margin:10px 12px 8px 57px!important;color:var(--uo-warn);border-top-color:var(--uo-warn)!important}
  .uo-text .uo-notes{padding:2px 14px 6px!important;border-bottom:1px solid var(--uo-hair)!important;color:var(--uo-soft);font-size:12px}
  .uo-say{padding:4px 12px 4px 57px;color:var(--uo-soft);opacity:1!important}
  .uo-text>div.uo-say{padding-left:14px}
  .uo-foot code{background:none!important;padding:0!important}
  .uo-flat{margin:0;padding:4px 14px;white-space:pre-wrap;overflow-wrap:anywhere;font:inherit;background:none;border:0;color:inherit;unicode-bidi:plaintext}
  .uo-flat.uo-mono{font:400 11px/17px var(--jp-code-font-family,ui-monospace,monospace)}
  .uo-flat+.uo-flat{padding-top:10px}
  .uo-strip{display:none}
  .uo-film{position:relative;height:92px;overflow-x:auto;overflow-y:hidden;border-top:1px solid var(--uo-hair);background:var(--uo-second)}
  .uo-reel{position:relative;height:80px;margin:0 10px}
  .uo-film button{position:absolute;top:6px;width:56px;height:76px;padding:0;border:0;flex-direction:column;gap:2px;font-weight:400;color:var(--uo-soft);background:none}
  .uo-thumb{display:block;width:41px;height:56px;padding:1px;border:1px solid var(--uo-line);border-radius:2px;background:#fff;overflow:hidden}
  .uo-film img{display:block;width:100%;height:100%;object-fit:cover;object-position:top;max-width:none}
  .uo-film .uo-count{display:flex;align-items:center;gap:3px}
  .uo-film svg{width:11px;height:11px}
  .uo-film .uo-warn .uo-thumb{border:2px solid var(--uo-warn)}
  .uo-film .uo-error .uo-thumb{border:2px dashed var(--uo-error)}
  .uo-film .uo-failed .uo-thumb{border-style:solid}
  .uo-film .uo-accent .uo-thumb{border:2px solid var(--uo-accent)}
  .uo-film .uo-waits .uo-thumb{border-style:dashed;background:none}
  .uo-film [aria-current] .uo-thumb{outline:2px solid var(--uo-accent);outline-offset:1px}
  .uo-film [aria-current] .uo-count{font-weight:600;color:var(--uo-ink)}
  .uo-film .uo-warn .uo-count,.uo-film .uo-error .uo-count,.uo-film .uo-accent .uo-count{font-weight:600;color:inherit}
  .uo-film .uo-warn{color:var(--uo-warn)}.uo-film .uo-error{color:var(--uo-error)}.uo-film .uo-accent{color:var(--uo-accent)}
  .uo-foot{display:flex;align-items:center;gap:12px;min-height:28px;padding:0 6px 0 12px;border-top:1px solid var(--uo-hair);background:var(--uo-second);color:var(--uo-soft);overflow:hidden;white-space:nowrap}
  .uo-foot button{flex:none;height:24px;padding:0 6px;font-weight:400;margin:0 -4px;gap:4px}
  .uo-facts{display:flex;align-items:center;gap:12px;flex:1 1 0;min-width:0;overflow:hidden}
  .uo-facts>*{flex:none}
  .uo-foot.uo-tight{gap:9px}
  .uo-foot.uo-tight .uo-word{display:none}
  .uo-foot .uo-sep{align-self:center;height:14px;border-left:1px solid var(--uo-line)}
  .uo-menu,.uo-sheet-keys{position:absolute;z-index:9;background:var(--uo-ground);border:1px solid var(--uo-line);border-radius:6px}
  .uo-menu{top:36px;right:8px;min-width:190px;padding:4px}
  .uo-menu button{display:flex;width:100%;justify-content:flex-start;font-weight:400}
  .uo-menu hr{border:0;border-top:1px solid var(--uo-hair);margin:4px 0}
  .uo-sheet-keys{inset:48px 16px auto;max-width:560px;max-height:calc(100% - 64px);margin:0 auto;padding:12px 16px 14px;overflow:auto}
  .uo-sheet-keys h2{display:flex;align-items:center;justify-content:space-between;font-size:13px;line-height:20px;font-weight:600;margin:0 0 6px;padding:0;border:0}
  .uo-sheet-keys dl{display:grid;grid-template-columns:auto 1fr;gap:4px 14px;margin:0}
  .uo-sheet-keys dt{white-space:nowrap;font-weight:400;margin:0;padding:0}.uo-sheet-keys dd{margin:0;padding:0;color:var(--uo-soft)}
  .uo-turn svg,svg.uo-turn{animation:uo-turn 1.1s linear infinite}
}
.uo-chrome[data-dark] :is(.uo-mat .uo-image,.uo-row img:not(.uo-icon)){filter:brightness(.93)}
.uo-chrome[data-dark] .uo-mat .uo-blank{background:#ececec}
.uo-root[data-dark]>.uo-summary .uo-bad img:not(.uo-icon){filter:brightness(.85)}
.uo-chrome[data-dark] .uo-thumb{filter:brightness(.85)}
.uo-chrome.uo-narrow{
  .uo-bar{gap:2px}
  .uo-name{flex:1 1 0}
  .uo-find{order:9;display:none}
  .uo-find.uo-open{display:flex;flex:1 1 100%}
  .uo-bar{flex-wrap:wrap;padding:6px 8px 6px 12px}
  .uo-body{flex-direction:column;height:auto}
  .uo-left,.uo-right{display:contents}
  .uo-tabs{order:1}.uo-chips{order:2}.uo-stand,.uo-right>.uo-text{order:3;flex:none;height:var(--uo-tall,480px)}
  .uo-mat{padding:12px}
  &[data-tab=page] .uo-text,&:not([data-tab=page]) :is(.uo-stand,.uo-chips){display:none}
  .uo-actions span,.uo-foot code,.uo-foot .uo-sep,.uo-foot .uo-word,.uo-foot .uo-keys,.uo-facts>:nth-child(n+3),.uo-fade{display:none}
  .uo-tabs button:not([role=tab]){padding:0 5px}
  .uo-tabs .uo-actions button:not(.uo-worded)>span{display:none}
  &[data-tab=page] .uo-actions{display:none}
  &[data-tab=page] .uo-strip.uo-open{display:block;border-top:1px solid var(--uo-hair);padding:8px 12px}
  .uo-strip p{margin:4px 0 0;font:400 13px/19.5px var(--jp-content-font-family,system-ui,sans-serif);display:-webkit-box;-webkit-line-clamp:2;-webkit-box-orient:vertical;overflow:hidden;cursor:pointer}
  .uo-strip>div{display:flex;align-items:center;gap:6px}
}
.uo-chrome:not(.uo-narrow) :is(.uo-tabs [data-tab=page],.uo-loupe){display:none}
@keyframes uo-turn{to{transform:rotate(1turn)}}
@media (prefers-reduced-motion:reduce){.uo-chrome *{transition:none!important;animation:none!important}}
@media print{
  .uo-root[data-on] .uo-twin{display:block!important}
  .uo-root .uo-chrome{display:none!important}
  details.uo-page::details-content{display:block;content-visibility:visible;height:auto;opacity:1}
  details.uo-page{break-before:page}
  .uo-panes{display:flex;flex-wrap:wrap;align-items:flex-start}
  .uo-pane{flex:1 1 300px}
  .uo-head,.uo-banner{break-inside:avoid;break-after:avoid}
  .uo-row{break-inside:avoid}
  .uo-fold:not([open]){display:none}
  .uo-root{print-color-adjust:exact}
  .jp-OutputArea-child:has(.uo-root){break-inside:auto}
}
${Object.entries(FAMILIES).map(([name, [paper, , line]]) => `.uo-chrome [data-f=${name}]{--p:${paper};--c:var(--uo-f-${name});--b:${line}}`).join("\n")}
`;

// ---------------------------------------------------------------- small things
const SVG = "http://www.w3.org/2000/svg";

function icon(path, kind = "") {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  if (kind) svg.setAttribute("class", kind);
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", ICONS[path] || path);
  svg.append(line);
  return svg;
}

function make(tag, props = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

function button(label, onclick, { shape, kind = "", title, name, ...more } = {}) {
  const word = label ? make("span", {}, label) : null;
  return make(
    "button",
    { type: "button", class: kind, title: title || null, "aria-label": name || (label ? null : title), onclick, ...more },
    shape ? icon(shape) : null,
    word,
  );
}

const number = (value) => Number(value).toLocaleString("en-US");
const counted = (n, noun) => `${number(n)} ${noun}${n === 1 ? "" : "s"}`;
const toneOf = (letter) => (letter === "w" ? "waits" : STATUS[letter]?.[1] || "hint");

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const held = document.activeElement;
    const area = make("textarea", { style: "position:fixed;left:-99px" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    held?.focus?.({ preventScroll: true });
  }
}

function download(name, content) {
  const url = typeof content === "string" ? content : URL.createObjectURL(content);
  const link = make("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  if (url !== content) setTimeout(() => URL.revokeObjectURL(url), 30000);
}

// One unit out for each unit in, so that places in the folded text are places in the text.
function fold(text) {
  const lower = text.slice(0, LONGEST_SEARCHED).replace(/[^\x00-\x7f]/g, (c) => c.normalize("NFD")[0].toLowerCase().slice(0, 1) || c).replace(/\s/g, " ");
  return lower.toLowerCase().length === lower.length ? lower.toLowerCase() : lower;
}

function luminance(element) {
  for (let node = element; node; node = node.parentElement) {
    const [r, g, b, a = 1] = (getComputedStyle(node).backgroundColor.match(/[\d.]+/g) || []).map(Number);
    if (r === undefined || a < 0.5) continue;
    const linear = [r, g, b].map((v) => (v / 255 <= 0.03928 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  }
  return 1;
}

// Inks by how light the ground is, not by the name of a theme.
function paint(chrome) {
  const dark = luminance(chrome.parentElement || document.body) < 0.18 ? 1 : 0;
  chrome.toggleAttribute("data-dark", dark === 1);
  chrome.style.setProperty("--uo-strength", dark ? "14%" : "9%");
  for (const [name, pair] of Object.entries(INKS)) chrome.style.setProperty(`--uo-${name}`, pair[dark]);
  chrome.parentElement?.style.setProperty("--uo-link", INKS.accent[dark]);
  chrome.parentElement?.toggleAttribute("data-dark", dark === 1);
  chrome.style.setProperty("--uo-ground", `var(--jp-layout-color0,${INKS.ground[dark]})`);
  for (const [name, pair] of Object.entries(FAMILIES)) chrome.style.setProperty(`--uo-f-${name}`, pair[dark]);
}

// Lab and Notebook listen before the view does, and `x` would cut the cell. Their selectors can match the focused element
// itself, so the mark on the root alone is not enough.
const suppress = (element) => (element.dataset.lmSuppressShortcuts = "true");

// Formulas are set before the host's typesetter sees them, so that they show without it too.
function setFormulas(node) {
  for (const place of node.querySelectorAll(".uo-math[data-mml]")) {
    if (place.dataset.tex !== undefined) continue;
    place.dataset.tex = place.textContent;
    place.innerHTML = place.dataset.mml;
    place.classList.remove("tex2jax_process", "mathjax_process");
  }
}

// ---------------------------------------------------------------- what a row says as text
function cellText(cell) {
  return plainText(cell).replace(/\s+/g, " ").trim();
}

function tableTsv(table) {
  const grid = [];
  [...table.rows].forEach((row, y) => {
    let x = 0;
    for (const cell of row.cells) {
      while (grid[y]?.[x] !== undefined) x += 1;
      for (let down = 0; down < Math.min(cell.rowSpan, table.rows.length - y); down += 1) {
        grid[y + down] ||= [];
        for (let along = 0; along < cell.colSpan; along += 1) grid[y + down][x + along] = cellText(cell);
      }
      x += cell.colSpan;
    }
  });
  return grid.map((line) => Array.from(line, (text) => text || "").join("\t")).join("\n");
}

function plainText(node) {
  let said = "";
  for (const child of node.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) said += child.data;
    else if (child.nodeType !== Node.ELEMENT_NODE) continue;
    else if (child.tagName === "TABLE") said += `\n${tableTsv(child)}\n`;
    else if (child.tagName === "BR") said += "\n";
    else if (child.dataset?.tex !== undefined) said += child.dataset.tex;
    else if (child.classList.contains("uo-caret")) continue;
    else said += plainText(child) + (child.tagName === "DIV" ? "\n" : "");
  }
  return said;
}

const bodyOf = (row) => row.querySelector(":scope > .uo-text");
const rowText = (row) => plainText(bodyOf(row) || row).trim();
const rowTex = (row) => [...row.querySelectorAll(".uo-math")].map((m) => (m.dataset.tex || m.textContent).replace(/^\$+|\$+$/g, "").trim()).join("\n");

// ---------------------------------------------------------------- search
function* textsOf(node) {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT, {
    acceptNode: (text) => (text.parentElement.closest("math,button") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT),
  });
  for (let text = walker.nextNode(); text; text = walker.nextNode()) yield text;
}

function placesIn(text, wanted) {
  const found = [];
  const folded = fold(text);
  for (let at = folded.indexOf(wanted); at >= 0 && found.length < MOST_MARKS; at = folded.indexOf(wanted, at + wanted.length)) found.push(at);
  return found;
}

function countHits(node, wanted) {
  let count = 0;
  for (const text of textsOf(node)) count += placesIn(text.data, wanted).length;
  return count;
}

// ---------------------------------------------------------------- where the pages come from
class StoredSource {
  constructor(root) {
    this.root = root;
    this.live = false;
    this.can = new Set();
  }

  doc() {
    try {
      return JSON.parse(this.root.dataset.doc);
    } catch {
      return null;
    }
  }

  twin(p) {
    return this.root.querySelector(`:scope > .uo-page[data-p="${Number(p)}"]`);
  }

  async load(p) {
    return this.twin(p)?.cloneNode(true) || null;
  }

  async thumb(p) {
    return this.twin(p)?.querySelector(".uo-image")?.src || null;
  }

  async find(wanted) {
    const found = {};
    for (const page of this.root.querySelectorAll(":scope > .uo-page")) {
      let count = 0;
      for (const row of page.querySelectorAll(".uo-row")) count += countHits(bodyOf(row) || row, wanted);
      if (count) found[page.dataset.p] = count;
    }
    return found;
  }

  select() {}
}

// ---------------------------------------------------------------- the view
function mount(root, source) {
  const el = {};
  const ui = {
    root,
    source,
    el,
    hooks: [],
    doc: source.doc(),
    state: { page: 1, tab: "markdown", off: new Set(), selected: null, hot: null, zoom: 1, query: "", hits: {}, hit: 0, narrow: false },
    current: { p: 0, node: null, parts: [], boxes: new Map(), rows: new Map() },
  };
  const { state, hooks } = ui;
  let turning = 0; // a page that comes late must not replace one that was asked for after it
  let aim = 1; // the page that was asked for last: a key that is held counts from it, not from what has arrived

  const ask = (name, ...given) => hooks.map((hook) => hook[name]?.(ui, ...given)).filter((answer) => answer !== undefined && answer !== null);

  // ------------------------------------------------------------ building
  function build() {
    const chrome = make("div", { class: "uo-chrome", role: "region" });
    el.style = make("style");
    el.style.textContent = STYLE;
    el.name = make("span", { class: "uo-name", dir: "auto" });
    el.page = make("input", { type: "text", inputmode: "numeric", "aria-label": "Page", onchange: () => jump(el.page.value), onkeydown: (event) => event.key === "Enter" && jump(el.page.value) });
    el.of = make("span");
    el.before = button("", () => go(aim - 1), { shape: "left", title: "Previous page" });
    el.after = button("", () => go(aim + 1), { shape: "right", title: "Next page" });
    el.pager = make("span", { class: "uo-pager" }, el.before, el.page, el.of, el.after);
    el.status = make("span", { class: "uo-pill" });
    el.query = make("input", { type: "text", spellcheck: "false", autocomplete: "off", oninput: () => search(el.query.value), onkeydown: searchKey });
    el.found = make("span", { class: "uo-found" });
    el.slash = make("kbd", { "aria-hidden": "true" }, "/");
    el.hitUp = button("", () => step(-1), { shape: "up", title: "Previous hit", hidden: true });
    el.hitDown = button("", () => step(1), { shape: "down", title: "Next hit", hidden: true });
    el.find = make("span", { class: "uo-find", role: "search" }, icon("find"), el.query, el.found, el.hitUp, el.hitDown, el.slash);
    el.loupe = button("", openSearch, { shape: "find", title: "Search", kind: "uo-loupe" });
    el.more = button("", menu, { shape: "more", title: "More", "aria-haspopup": "menu", "aria-expanded": "false" });
    el.more.firstChild.style.strokeWidth = "2.6";
    el.bar = make("div", { class: "uo-bar" }, el.name, el.pager, el.status, make("span", { class: "uo-spring" }), el.loupe, el.find, el.more);
    el.progress = make("div", { class: "uo-run", hidden: true });
    el.banner = make("div", { class: "uo-note", hidden: true });
    el.chips = make("div", { class: "uo-chips", role: "toolbar", "aria-label": "Labels" });
    el.mat = make("div", { class: "uo-mat", role: "group" });
    el.zoom = make(
      "div",
      { class: "uo-zoom", role: "group", "aria-label": "Zoom" },
      button("−", () => zoom(state.zoom / 1.25), { title: "Zoom out", name: "Zoom out" }),
      button("Fit", () => zoom(1), { title: "Fit to the width", name: "Fit to the width" }),
      button("+", () => zoom(state.zoom * 1.25), { title: "Zoom in", name: "Zoom in" }),
    );
    el.left = make("div", { class: "uo-left" }, el.chips, make("div", { class: "uo-stand" }, el.mat, el.zoom));
    el.tablist = make("div", { role: "tablist", "aria-label": "What is shown" });
    for (const [tab, word] of Object.entries({ page: "Page", markdown: "Markdown", text: "Text", raw: "Raw" })) {
      el.tablist.append(button(word, () => show(tab), { role: "tab", "data-tab": tab }));
    }
    el.actions = make("div", { class: "uo-actions", role: "toolbar", "aria-label": "Page and block" });
    el.tabs = make("div", { class: "uo-tabs" }, el.tablist, el.actions);
    el.text = make("div", { class: "uo-text", role: "tabpanel", tabindex: "-1" });
    el.fade = make("div", { class: "uo-fade" });
    el.right = make("div", { class: "uo-right", style: "position:relative" }, el.tabs, el.text, el.fade);
    el.strip = make("div", { class: "uo-strip" });
    el.body = make("div", { class: "uo-body" }, el.left, el.right);
    el.reel = make("div", { class: "uo-reel" });
    el.film = make("div", { class: "uo-film", role: "toolbar", "aria-label": "Pages", onscroll: () => soon(film) }, el.reel);
    el.foot = make("div", { class: "uo-foot" });
    el.live = make("div", { class: "uo-unseen", "aria-live": "polite", role: "status" });
    chrome.append(el.style, el.bar, el.progress, el.banner, el.body, el.strip, el.film, el.foot, el.live);
    chrome.addEventListener("keydown", key);
    chrome.addEventListener("mouseover", pointed);
    chrome.addEventListener("mouseleave", () => hot(null));
    chrome.addEventListener("focusin", (event) => focused(event.target));
    chrome.addEventListener("click", clicked);
    el.text.addEventListener("scroll", fade);
    for (const part of [el.chips, el.tablist, el.film]) part.addEventListener("keydown", (event) => rove(part, event));
    ui.chrome = chrome;
  }

  const waitingFor = new Set();
  function soon(work) {
    if (waitingFor.has(work)) return;
    waitingFor.add(work);
    requestAnimationFrame(() => {
      waitingFor.delete(work);
      work();
    });
  }

  // What is drawn anew keeps the focus, or the notebook would get the next key.
  function refill(part, ...children) {
    const stops = [...part.querySelectorAll("button,input")];
    const at = stops.indexOf(document.activeElement);
    part.replaceChildren(...children);
    if (at < 0) return;
    const now = [...part.querySelectorAll("button,input")];
    (now[Math.min(at, now.length - 1)] || el.text).focus({ preventScroll: true });
  }

  // ------------------------------------------------------------ root and chrome
  const watching = new ResizeObserver(() => {
    listen(ui.chrome.isConnected);
    soon(measure);
  });
  const repaint = () => [ui.chrome, ui.root?.querySelector(".uo-unfold")].forEach((one) => one && paint(one));
  const themes = new MutationObserver(repaint);
  const scheme = matchMedia("(prefers-color-scheme:dark)"); // a page of its own has no theme but this

  // What listens on the page holds the view: so it listens while it is on the page, or each cleared output would stay in
  // memory with its pictures. An observer of its own size is told of both.
  let listens = false;
  function listen(on) {
    if (on === listens) return;
    listens = on;
    if (on) {
      scheme.addEventListener("change", repaint);
      themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-name", "data-jp-theme-light", "class"] });
      addEventListener("beforeprint", unfold);
      addEventListener("afterprint", refold);
      repaint();
    } else {
      scheme.removeEventListener("change", repaint);
      themes.disconnect();
      removeEventListener("beforeprint", unfold);
      removeEventListener("afterprint", refold);
    }
  }

  // Printing shows the twin, all of it.
  let unfolded = [];
  function unfold() {
    unfolded = [...ui.root.querySelectorAll("details.uo-page:not([open])")];
    for (const page of unfolded) page.open = true;
  }

  function refold() {
    for (const page of unfolded) page.open = false;
    unfolded = [];
  }

  function attach(to) {
    ui.root = to;
    to.uocr = ui;
    to.dataset.on = "";
    suppress(to);
    setFormulas(to);
    for (const child of to.children) {
      const kept = child.classList.contains("uo-chrome") || child.tagName === "SCRIPT" || child.classList.contains("uo-summary");
      child.classList.toggle("uo-twin", !kept);
    }
    summary();
    if (!to.dataset.links) to.addEventListener("click", linked);
    to.dataset.links = "1";
    const script = to.querySelector(":scope > script");
    to.insertBefore(ui.chrome, script);
    listen(to.isConnected);
    paint(ui.chrome);
    measure();
  }

  // Links of the summary lead to pages.
  function linked(event) {
    const link = event.target.closest?.("a[href^='#uo-']");
    const place = link && /-p(\d+)$/.exec(link.getAttribute("href"));
    if (!place) return;
    event.preventDefault();
    go(Number(place[1]));
    el.bar.scrollIntoView({ block: "nearest" });
  }

  function measure() {
    const wide = ui.chrome.clientWidth;
    if (!wide) return;
    const narrow = wide <= NARROW;
    if (narrow !== state.narrow || !ui.chrome.dataset.tab) {
      state.narrow = narrow;
      ui.chrome.classList.toggle("uo-narrow", narrow);
      show(narrow ? "page" : state.tab === "page" ? "markdown" : state.tab);
    }
    // In a frame that grows with what it holds, its own height says nothing.
    const window70 = window.self === window.top ? window.innerHeight * 0.7 : 640;
    const sheet = el.mat.querySelector(".uo-paper");
    const inset = narrow ? 24 : 32;
    const ratio = Number(sheet?.dataset.ratio) || 1.414;
    const fit = ((el.mat.clientWidth || wide) - inset) * ratio + inset + (narrow ? 0 : 36);
    // While pages come and go by themselves, the height stays.
    if (!ui.still || state.wide !== wide) ui.chrome.style.setProperty("--uo-tall", `${Math.round(Math.max(320, Math.min(fit, window70)))}px`);
    state.wide = wide;
    foldChips();
    tighten();
    film();
    fade();
  }

  // The words beside the counts go first.
  function tighten() {
    el.foot.classList.remove("uo-tight");
    const facts = el.foot.firstChild;
    if (facts && facts.scrollWidth > facts.clientWidth + 1) el.foot.classList.add("uo-tight");
  }

  function fade() {
    el.fade.hidden = el.text.scrollHeight - el.text.scrollTop - el.text.clientHeight < 8;
    el.fade.style.display = el.fade.hidden ? "none" : "";
  }

  // ------------------------------------------------------------ pages
  function jump(text) {
    const wanted = Number.parseInt(text, 10);
    const there = wanted >= 1 && wanted <= ui.doc.total;
    el.page.value = there ? wanted : state.page;
    if (there) go(wanted);
  }

  async function go(p, { select: chosen = null, focus = false } = {}) {
    if (!(p >= 1 && p <= ui.doc.total)) return;
    turning += 1;
    aim = p;
    const mine = turning;
    const node = await source.load(p);
    if (mine !== turning) return;
    const turned = p !== ui.current.p;
    state.page = p;
    if (turned) {
      // Another view of the document may have something selected on it.
      chosen ??= source.chosenOn?.(p) ?? null;
      state.selected = chosen;
      state.hot = null;
    } else if (chosen) state.selected = chosen;
    draw(node, turned);
    if (turned) source.select(p, chosen);
    if (focus) focusBlock(state.selected || 1);
  }

  const refresh = () => go(state.page);

  function draw(node, turned) {
    const held = heldFocus();
    const parts = [...(node?.querySelector(".uo-pane")?.childNodes || [])];
    ui.current = { p: state.page, node, parts, boxes: new Map(), rows: new Map() };
    el.mat.replaceChildren();
    if (node) {
      setFormulas(node);
      const paper = node.querySelector(".uo-paper");
      if (paper) {
        const image = paper.querySelector(".uo-image");
        const blank = paper.querySelector(".uo-blank");
        paper.dataset.ratio = blank ? (Number.parseFloat(blank.style.paddingTop) || 141.4) / 100 : image?.naturalWidth ? image.naturalHeight / image.naturalWidth : 1.414;
        if (image && !image.naturalWidth) {
          image.addEventListener("load", () => {
            paper.dataset.ratio = image.naturalHeight / image.naturalWidth;
            soon(measure);
          });
        }
        el.mat.append(paper);
        if (blank?.title) el.mat.append(make("p", { class: "uo-hint" }, blank.title));
      }
      dress(node);
    } else el.mat.append(make("p", { class: "uo-hint" }, `The picture of page ${number(state.page)} is not in the saved notebook.`));
    header();
    chips();
    text();
    marks();
    actions();
    foot();
    film(turned);
    ask("page");
    zoom(state.zoom);
    measure();
    if (turned) {
      el.text.scrollTop = 0;
      el.mat.scrollTop = 0;
    }
    if (state.selected) reveal(state.selected);
    restoreFocus(held);
  }

  // Boxes and rows become things that can be pointed at, by mouse, key and screen reader.
  function dress(node) {
    for (const box of el.mat.querySelectorAll(".uo-box")) dressBox(box);
    // A small box over a large one is the one that is pointed at.
    const area = (box) => Number.parseFloat(box.style.width) * Number.parseFloat(box.style.height);
    [...ui.current.boxes.values()].sort((a, b) => area(b) - area(a)).forEach((box, i) => (box.style.zIndex = i + 1));
    for (const row of node.querySelectorAll(".uo-pane .uo-row")) dressRow(row);
    tabStops();
  }

  function dressBox(box) {
    const n = Number(box.dataset.b);
    ui.current.boxes.set(n, box);
    box.setAttribute("role", "button");
    box.setAttribute("aria-label", box.title);
    box.removeAttribute("title");
    box.setAttribute("aria-pressed", String(n === state.selected));
    box.classList.toggle("uo-sel", n === state.selected);
    box.tabIndex = -1;
  }

  function dressRow(row) {
    const n = Number(row.dataset.b);
    ui.current.rows.set(n, row);
    // What is the same as the label, or as the name of the box, is not said twice in what is stored.
    row.dataset.k ??= row.dataset.l;
    row.dataset.f ??= row.dataset.l;
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", row.title || ui.current.boxes.get(n)?.getAttribute("aria-label") || "");
    row.removeAttribute("title");
    row.tabIndex = -1;
    const place = row.querySelector(":scope > .uo-no");
    row.dataset.c ??= place?.textContent.trim().split(" ")[1]?.replace("•", "") || "";
    place?.replaceChildren(`${n}`, " ", make("b", {}, row.dataset.c));
    for (const scroll of row.querySelectorAll(".uo-scroll")) scroll.tabIndex = -1;
  }

  function tabStops() {
    const n = state.selected || state.hot;
    for (const map of [ui.current.boxes, ui.current.rows]) {
      const at = map.has(n) ? n : [...map.keys()].find((one) => !map.get(one).classList.contains("uo-off"));
      for (const [one, node] of map) node.tabIndex = one === at ? 0 : -1;
    }
  }

  // ------------------------------------------------------------ head
  const letter = (p) => ui.doc.status[p - 1] || "w";

  function sourceOf(p) {
    let name = "";
    for (const [one, first] of ui.doc.sources || []) if (first <= p) name = one;
    return name || ui.doc.name;
  }

  function header() {
    const p = state.page;
    el.name.textContent = el.name.title = sourceOf(p);
    ui.chrome.setAttribute("aria-label", `${ui.doc.name}, page view`);
    if (document.activeElement !== el.page) el.page.value = p;
    el.page.style.setProperty("--uo-digits", `${Math.max(34, 14 + 8 * String(ui.doc.total).length)}px`);
    el.of.textContent = `of ${number(ui.doc.total)}`;
    el.pager.hidden = el.film.hidden = ui.doc.total < 2;
    el.pager.style.display = el.film.style.display = ui.doc.total < 2 ? "none" : "";
    el.before.disabled = p <= 1;
    el.after.disabled = p >= ui.doc.total;
    el.query.placeholder = ui.doc.total > 1 ? `Find in ${number(ui.doc.total)} pages` : "Find in the page";
    el.query.setAttribute("aria-label", el.query.placeholder);
    const [word, , path] = STATUS[letter(p)];
    el.status.className = `uo-pill uo-${toneOf(letter(p))}`;
    el.status.replaceChildren(icon(path, letter(p) === "r" ? "uo-turn" : ""), word);
    el.mat.setAttribute("aria-label", `Page ${p} of ${ui.doc.total}, ${word}`);
    banner();
  }

  function banner() {
    const l = letter(state.page);
    const reason = ui.current.node?.querySelector(".uo-reason")?.textContent || "";
    const bad = !"orw".includes(l);
    el.banner.hidden = !bad;
    el.banner.style.display = bad ? "" : "none";
    if (!bad) return;
    el.banner.className = `uo-note uo-${toneOf(l)}`;
    const again = source.can.has("rerun")
      ? button(Number(ui.current.node?.dataset.edits) ? "Run again, without the edits" : "Run again", () => source.ask("rerun", { ps: [state.page] }).catch((error) => say(error.message)), { shape: "again", kind: "uo-framed" })
      : make("code", {}, "doc.retry()");
    refill(el.banner, make("span", { dir: "auto", style: "color:var(--uo-ink)" }, reason || `The page is ${STATUS[l][0]}.`), again);
  }

  // ------------------------------------------------------------ labels
  function kinds() {
    const found = new Map();
    for (const row of ui.current.rows.values()) {
      const { l, k, c, f } = row.dataset;
      const kind = found.get(k) || { name: k || l, code: c, family: f, count: 0 };
      kind.count += 1;
      found.set(k, kind);
    }
    return [...found.values()].sort((a, b) => (a.family === "furniture") - (b.family === "furniture") || b.count - a.count);
  }

  function chips() {
    const at = el.chips.querySelector(":focus")?.dataset.kind;
    const made = kinds().map(({ name, code, family, count }) => {
      const on = !state.off.has(name);
      const chip = button("", (event) => toggle(name, event.shiftKey), {
        name: `${name}, ${counted(count, "block")}, ${on ? "shown" : "hidden"}`,
        "aria-pressed": String(on),
        "data-kind": name,
        "data-f": family,
        onkeydown: (event) => {
          if (event.key !== "Enter" || !event.shiftKey) return;
          event.preventDefault();
          event.stopPropagation();
          toggle(name, true);
        },
      });
      chip.append(make("span", { class: "uo-tile" }, code), `${name} `, make("span", { class: "uo-hint" }, number(count)));
      return chip;
    });
    const fold = button("", () => {
      el.chips.classList.toggle("uo-all");
      measure();
    }, { kind: "uo-rest", title: "More labels" });
    el.chips.replaceChildren(...made, fold);
    el.chips.style.display = made.length || !state.narrow ? "" : "none";
    roving(el.chips);
    foldChips();
    if (at) ([...el.chips.children].find((chip) => chip.dataset.kind === at) || el.text).focus({ preventScroll: true });
  }

  function foldChips() {
    const made = [...el.chips.querySelectorAll("[data-kind]")];
    const rest = el.chips.querySelector(".uo-rest");
    if (!rest) return;
    for (const chip of made) chip.style.display = "";
    rest.style.display = "none";
    if (el.chips.classList.contains("uo-all") || el.chips.scrollWidth <= el.chips.clientWidth + 1) return;
    rest.style.display = "";
    let left = 0;
    for (const chip of made.reverse()) {
      if (el.chips.scrollWidth <= el.chips.clientWidth + 1) break;
      chip.style.display = "none";
      left += 1;
      rest.textContent = `+${left}`;
    }
  }

  function toggle(name, alone) {
    const names = kinds().map((kind) => kind.name);
    if (alone) {
      const only = names.every((one) => state.off.has(one) === (one !== name));
      state.off = new Set(only ? [] : names.filter((one) => one !== name));
    } else if (!state.off.delete(name)) state.off.add(name);
    chips();
    filter();
  }

  function showAll() {
    state.off.clear();
    chips();
    filter();
  }

  function filter() {
    const hidden = new Map();
    for (const [n, row] of ui.current.rows) {
      const off = state.off.has(row.dataset.k);
      row.classList.toggle("uo-off", off);
      ui.current.boxes.get(n)?.classList.toggle("uo-off", off);
      if (off) hidden.set(row.dataset.k, (hidden.get(row.dataset.k) || 0) + 1);
    }
    el.text.querySelector(".uo-filtered")?.remove();
    if (hidden.size && state.tab !== "raw") {
      const words = [...hidden].map(([name, count]) => `${number(count)} ${name}`).join(", ");
      const one = hidden.size === 1 && [...hidden.values()][0] === 1;
      el.text.prepend(make("div", { class: "uo-say uo-filtered" }, `${words} ${one ? "block is" : "blocks are"} filtered out. `, button("Show all labels", showAll, { kind: "uo-link" })));
    }
    tabStops();
    strikes();
    fade();
  }

  // What scrolls and holds nothing that can be focused is a stop itself.
  function scrollStops() {
    el.mat.tabIndex = ui.current.boxes.size ? -1 : 0;
    el.text.tabIndex = (state.tab === "markdown" || state.tab === "page") && ui.current.rows.size ? -1 : 0;
  }

  // ------------------------------------------------------------ text
  function show(tab) {
    state.tab = tab;
    ui.chrome.dataset.tab = tab;
    for (const one of el.tablist.children) one.setAttribute("aria-selected", String(one.dataset.tab === tab));
    roving(el.tablist, el.tablist.querySelector("[aria-selected=true]"));
    if (!ui.current.p) return;
    const held = heldFocus();
    text();
    marks();
    actions();
    measure();
    restoreFocus(held);
  }

  function text() {
    const { node, rows } = ui.current;
    scrollStops();
    el.text.setAttribute("aria-label", state.tab);
    if (!node) {
      el.text.replaceChildren(make("div", { class: "uo-say", style: "padding-left:14px" }, "This page is not in the saved notebook. Run the cell again; ", make("code", {}, `doc.page(${state.page})`), " or ", make("code", {}, "doc.view()"), " shows it."));
      return;
    }
    if (state.tab === "raw") {
      const raw = node.querySelector(".uo-raw pre")?.textContent || "";
      const more = node.querySelector(".uo-raw .uo-left");
      el.text.replaceChildren(raw ? make("pre", { class: "uo-flat uo-mono", dir: "auto" }, raw) : make("div", { class: "uo-say" }, "There is no answer to show."), ...(more ? [more.cloneNode(true)] : []));
      return;
    }
    if (state.tab === "text") {
      el.text.replaceChildren(...[...rows].map(([n, row]) => make("pre", { class: `uo-flat${row.classList.contains("uo-off") ? " uo-off" : ""}`, dir: "auto", "data-flat": n }, rowText(row))));
      return;
    }
    const notes = node.querySelector(":scope > .uo-notes")?.cloneNode(true);
    const none = ui.doc?.status?.[state.page - 1] === "r" && !ui.current.parts.length && make("div", { class: "uo-say uo-none", style: "padding-left:14px" }, "Nothing of this page has come yet.");
    el.text.replaceChildren(...(notes ? [notes] : []), ...(none ? [none] : []), ...ui.current.parts);
    filter();
    for (const [n, row] of rows) row.classList.toggle("uo-sel", n === state.selected);
  }

  // ------------------------------------------------------------ pointing and selecting
  function blockAt(target) {
    const found = target.closest?.("[data-b]");
    return found && ui.chrome.contains(found) ? Number(found.dataset.b) : null;
  }

  function hot(n) {
    if (n === state.hot) return;
    for (const map of [ui.current.boxes, ui.current.rows]) {
      map.get(state.hot)?.classList.remove("uo-hot");
      map.get(n)?.classList.add("uo-hot");
    }
    state.hot = n;
  }

  function pointed(event) {
    const n = blockAt(event.target);
    if (n === state.hot) return;
    hot(n);
    if (n !== null) soon(() => n === state.hot && reveal(n, { box: !event.target.closest(".uo-box"), row: !event.target.closest(".uo-row") }));
  }

  // Pointing at one end scrolls the other into sight, when it is out of it.
  function reveal(n, { box = true, row = true } = {}) {
    if (row && ui.current.rows.get(n)?.isConnected) intoSight(el.text, ui.current.rows.get(n));
    if (box && ui.current.boxes.has(n)) intoSight(el.mat, ui.current.boxes.get(n));
  }

  function intoSight(pane, node) {
    const frame = pane.getBoundingClientRect();
    const place = node.getBoundingClientRect();
    if (!place.height && !place.width) return;
    if (place.top >= frame.top && place.bottom <= frame.bottom) return;
    const room = Math.max(0, (frame.height - place.height) / 2);
    pane.scrollTop += place.top - frame.top - Math.min(room, 60);
    if (place.left < frame.left || place.right > frame.right) pane.scrollLeft += place.left - frame.left - 20;
  }

  function clicked(event) {
    if (event.target.closest("button:not(.uo-box),input,select,textarea,a")) return;
    const n = blockAt(event.target);
    if (n === null) return;
    // Text that was marked with the mouse is to be copied, not selected as a block.
    if (event.target.closest(".uo-row") && String(getSelection()).trim()) return;
    select(n === state.selected ? null : n);
    reveal(n, { box: !event.target.closest(".uo-box"), row: !event.target.closest(".uo-row") });
  }

  function select(n, { tell = true } = {}) {
    if (n !== null && !ui.current.rows.has(n) && !ui.current.boxes.has(n)) return;
    for (const map of [ui.current.boxes, ui.current.rows]) {
      map.get(state.selected)?.classList.remove("uo-sel");
      map.get(n)?.classList.add("uo-sel");
    }
    for (const [one, box] of ui.current.boxes) box.setAttribute("aria-pressed", String(one === n));
    state.selected = n;
    tabStops();
    actions();
    foot();
    ask("selected", n);
    if (tell) source.select(state.page, n);
  }

  function focused(target) {
    suppress(target);
    const n = blockAt(target);
    if (n === null) return;
    hot(n);
    const onPage = !!target.closest(".uo-mat");
    reveal(n, { box: !onPage, row: onPage });
    intoSight(onPage ? el.mat : el.text, target.closest("[data-b]"));
  }

  function focusBlock(n, side = "page") {
    const first = side === "text" || state.narrow && state.tab !== "page" ? ui.current.rows : ui.current.boxes;
    const node = first.get(n) || ui.current.rows.get(n);
    if (!node) return;
    hot(n);
    node.tabIndex = 0;
    node.focus({ preventScroll: true });
  }

  function heldFocus() {
    const at = document.activeElement;
    return ui.chrome.contains(at) ? { n: blockAt(at), side: at.closest(".uo-text") ? "text" : "page" } : null;
  }

  function restoreFocus(held) {
    if (held) keepFocus(held);
  }

  function keepFocus({ n = null, side = "page" } = {}) {
    if (ui.chrome.contains(document.activeElement)) return;
    focusBlock(ui.current.rows.has(n) ? n : state.selected || 1, side);
    if (!ui.chrome.contains(document.activeElement)) el.text.focus({ preventScroll: true });
  }

  // ------------------------------------------------------------ actions
  const extentOf = (n) => (ui.current.rows.get(n) || ui.current.boxes.get(n))?.getAttribute("aria-label")?.split(", ").slice(1).join(", ") || "";

  function did(made, words = "Copied") {
    say(words);
    const word = made?.querySelector("span");
    if (!word || word.textContent === words) return;
    const before = word.textContent;
    word.textContent = words;
    setTimeout(() => (word.textContent = before), 1200);
  }

  const actionOf = (...names) => [...el.actions.querySelectorAll("button")].find((made) => names.includes(made.textContent));

  function blockButtons(n) {
    const row = ui.current.rows.get(n);
    const made = [button("Copy", (event) => copyBlock(n).then(() => did(event.target.closest("button"))), { shape: "copy", title: "Copy the block (c)", name: "Copy" })];
    if (row?.querySelector("table")) made.push(button("TSV", (event) => copyData(n).then(() => did(event.target.closest("button"))), { shape: "table", title: "Copy the table as TSV (x)", name: "TSV" }));
    else if (row?.querySelector(".uo-math")) made.push(button("LaTeX", (event) => copyData(n).then(() => did(event.target.closest("button"))), { shape: "copy", title: "Copy as LaTeX (x)", name: "LaTeX" }));
    if (ui.current.boxes.has(n)) made.push(button("Crop", () => crop(n), { shape: "crop", title: "Save this part of the page as a picture", name: "Crop" }));
    return [...made, ...ask("actions", n).flat()];
  }

  function actions() {
    const n = state.selected;
    const own = ask("tab").flat();
    if (own.length) refill(el.actions, ...own);
    else if (n) refill(el.actions, make("span", {}, `Block ${n}`), ...blockButtons(n));
    else refill(el.actions, ...ask("pageActions").flat(), button("Copy page", (event) => copyPage().then(() => did(event.target.closest("button"))), { shape: "copy", title: "Copy the page (c)" }));
    const row = n && ui.current.rows.get(n);
    el.strip.classList.toggle("uo-open", !!row);
    if (!row) return;
    const head = make("div", {}, make("span", { class: "uo-tile", "data-f": row.dataset.f }, row.dataset.c), make("b", {}, `Block ${n}`), make("span", { class: "uo-hint" }, extentOf(n)), make("span", { class: "uo-spring" }), ...blockButtons(n));
    for (const word of head.querySelectorAll("button > span")) word.remove();
    refill(el.strip, head, make("p", { dir: "auto", onclick: () => show("markdown") }, rowText(row).slice(0, 400)));
  }

  const copyBlock = (n) => copy(rowText(ui.current.rows.get(n)));

  async function copyData(n) {
    const row = ui.current.rows.get(n);
    const tables = [...(row?.querySelectorAll("table") || [])];
    if (tables.length) return copy(tables.map(tableTsv).join("\n\n")).then(() => true);
    if (row?.querySelector(".uo-math")) return copy(rowTex(row)).then(() => true);
    say("There is no table and no equation in this block.");
    return false;
  }

  function pageText() {
    const { node, rows } = ui.current;
    const kept = state.tab === "raw" ? node?.querySelector(".uo-raw pre") : state.tab === "text" ? null : node?.querySelector(".uo-source:not(:has(.uo-left)) pre");
    return kept ? kept.textContent : [...rows.values()].map(rowText).join("\n\n");
  }

  const copyPage = () => copy(pageText());

  const fileName = (ending) => `${sourceOf(state.page).replace(/[^\p{L}\p{N}._-]+/gu, "_").replace(/\.\w+$/, "").slice(0, 60) || "page"}-p${state.page}${ending}`;

  async function crop(n) {
    const name = fileName(`-b${n}.png`);
    if (source.can.has("crop")) {
      try {
        return download(name, await source.ask("crop", { p: state.page, n }));
      } catch (error) {
        say(error.message);
      }
    }
    const image = el.mat.querySelector(".uo-image");
    const box = ui.current.boxes.get(n);
    if (!image || !box) return (source.ontell || say)("There is no picture of this page here.");
    const part = ["left", "top", "width", "height"].map((side) => Number.parseFloat(box.style[side]) / 100);
    const [x, y, w, h] = [part[0] * image.naturalWidth, part[1] * image.naturalHeight, part[2] * image.naturalWidth, part[3] * image.naturalHeight];
    const canvas = make("canvas", { width: Math.max(1, Math.round(w)), height: Math.max(1, Math.round(h)) });
    canvas.getContext("2d").drawImage(image, x, y, w, h, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => blob && download(name, blob), "image/png");
  }

  function zoom(to) {
    state.zoom = Math.min(5, Math.max(1, Math.abs(to - 1) < 0.05 ? 1 : to));
    const paper = el.mat.querySelector(".uo-paper");
    paper?.style.setProperty("width", `${state.zoom * 100}%`, "important");
    el.zoom.children[1].firstChild.textContent = state.zoom === 1 ? "Fit" : `${Math.round(state.zoom * 100)} %`;
    if (state.selected) reveal(state.selected, { row: false });
    soon(strikes);
  }

  // ------------------------------------------------------------ search
  let asked = 0;
  async function search(typed) {
    state.query = typed;
    const wanted = fold(typed.trim());
    asked += 1;
    const mine = asked;
    state.hit = 0;
    state.hits = {};
    // A busy kernel takes a moment to answer; until then nothing is said to be missing.
    state.searching = wanted !== "";
    const hits = wanted ? (await source.find(wanted)) || {} : {};
    if (mine !== asked) return;
    state.searching = false;
    state.hits = hits;
    const pages = Object.keys(state.hits).map(Number);
    if (pages.length && !state.hits[state.page]) {
      const next = pages.find((p) => p > state.page) || pages[0];
      await go(next);
    }
    state.hit = before(state.page);
    marks();
    film();
  }

  // What has come or changed since may hold it too; nobody is taken elsewhere for that.
  let counting = 0;
  function recount() {
    clearTimeout(counting);
    const mine = asked;
    counting = setTimeout(async () => {
      const wanted = fold(state.query.trim());
      const hits = wanted ? (await source.find(wanted)) || {} : null;
      if (!hits || mine !== asked) return;
      const here = Math.max(0, state.hit - before(state.page));
      state.hits = hits;
      state.hit = Math.max(0, Math.min(before(state.page) + here, total() - 1));
      found(false);
      film();
    }, 300);
  }

  const before = (page) => Object.entries(state.hits).reduce((sum, [p, count]) => sum + (Number(p) < page ? count : 0), 0);
  const total = () => Object.values(state.hits).reduce((sum, count) => sum + count, 0);

  function marks() {
    for (const mark of el.text.querySelectorAll("mark")) {
      const parent = mark.parentNode;
      mark.replaceWith(...mark.childNodes);
      parent.normalize();
    }
    const wanted = fold(state.query.trim());
    if (wanted) {
      let made = 0;
      const bodies = state.tab === "markdown" || state.tab === "page" ? [...ui.current.rows.values()].map((row) => bodyOf(row) || row) : [...el.text.querySelectorAll(".uo-flat")];
      for (const body of bodies) {
        if (made > MOST_MARKS) break;
        for (const node of [...textsOf(body)]) {
          for (const at of placesIn(node.data, wanted).reverse()) {
            const rest = node.splitText(at);
            rest.splitText(wanted.length);
            const mark = make("mark");
            rest.replaceWith(mark);
            mark.append(rest);
            made += 1;
          }
        }
      }
    }
    strikes();
    found();
  }

  function found(moved = true) {
    const count = total();
    const wanted = state.query.trim();
    el.found.textContent = !wanted || state.searching ? "" : count ? `${number(state.hit + 1)} of ${number(count)}` : "not found";
    el.slash.style.display = wanted ? "none" : "";
    for (const made of [el.hitUp, el.hitDown]) {
      made.hidden = !count;
      made.style.display = count ? "" : "none";
    }
    const all = [...el.text.querySelectorAll("mark")];
    const at = Math.min(state.hit - before(state.page), all.length - 1);
    all.forEach((mark, i) => mark.classList.toggle("uo-now", i === at));
    const strikesHere = [...el.mat.querySelectorAll(".uo-strike")];
    strikesHere.forEach((strike) => strike.classList.toggle("uo-now", Number(strike.dataset.i) === at));
    if (!moved) return;
    const now = all[at];
    // A hit in what is filtered out is shown, with all the rest.
    if (now?.closest(".uo-off")) showAll();
    if (now && wanted) intoSight(el.text, now);
    const strike = strikesHere.find((one) => Number(one.dataset.i) === at);
    if (strike) intoSight(el.mat, strike);
    if (wanted) say(el.found.textContent);
  }

  async function step(by) {
    const count = total();
    if (!count) return;
    state.hit = (state.hit + by + count) % count;
    let seen = 0;
    for (const [p, hits] of Object.entries(state.hits)) {
      if (state.hit < seen + hits) {
        if (Number(p) !== state.page) await go(Number(p));
        break;
      }
      seen += hits;
    }
    found();
  }

  // Where a hit stands inside its box is a guess from the number of lines that its text takes at the box's size.
  function strikes() {
    for (const old of el.mat.querySelectorAll(".uo-strike")) old.remove();
    if (!state.query.trim()) return;
    const sheet = el.mat.querySelector(".uo-sheet");
    if (!sheet) return;
    let i = -1;
    const wide = sheet.clientWidth;
    const tall = sheet.clientHeight;
    for (const [n, row] of ui.current.rows) {
      const box = ui.current.boxes.get(n);
      const found = [...row.querySelectorAll("mark")];
      if (!found.length) continue;
      const whole = (bodyOf(row) || row).textContent.length || 1;
      for (const mark of found) {
        i += 1;
        if (!box || box.classList.contains("uo-off") || i > 300) continue;
        const [left, top, w, h] = ["left", "top", "width", "height"].map((side) => Number.parseFloat(box.style[side]));
        const area = (((w * wide) / 100) * h * tall) / 100;
        const line = Math.sqrt((2.1 * area) / whole);
        const lines = Math.max(1, Math.round((h * tall) / 100 / Math.max(line, 4)));
        const range = document.createRange();
        range.setStart(bodyOf(row) || row, 0);
        range.setEndBefore(mark);
        const place = (range.toString().length / whole) * lines;
        const share = Math.min(1, (mark.textContent.length / whole) * lines);
        const y = Math.min(lines - 1, Math.floor(place));
        const strike = make("div", { class: "uo-strike", "data-i": i });
        strike.style.cssText = `left:${left + (place - y) * w}%;top:${top + (y / lines) * h}%;width:${Math.max(1, Math.min(share, 1 - (place - y)) * w)}%;height:${h / lines}%`;
        sheet.append(strike);
      }
    }
  }

  function openSearch() {
    el.find.classList.add("uo-open");
    el.query.focus();
    el.query.select();
  }

  function searchKey(event) {
    if (event.key === "Enter") {
      event.preventDefault();
      step(event.shiftKey ? -1 : 1);
    }
  }

  function closeSearch() {
    el.query.value = "";
    el.find.classList.remove("uo-open");
    search("");
  }

  // ------------------------------------------------------------ film
  function film(turned = false) {
    const total = ui.doc.total;
    if (total < 2) return;
    el.reel.style.width = `${total * PITCH}px`;
    const p = state.page;
    if (turned) {
      const at = (p - 1) * PITCH;
      if (at < el.film.scrollLeft || at + PITCH > el.film.scrollLeft + el.film.clientWidth - 20) el.film.scrollLeft = at - el.film.clientWidth / 2 + PITCH / 2;
    }
    const first = Math.max(1, Math.floor(el.film.scrollLeft / PITCH) - 3);
    const last = Math.min(total, first + Math.ceil((el.film.clientWidth || 900) / PITCH) + 7);
    const held = document.activeElement?.closest?.(".uo-film button")?.dataset.t;
    for (const old of [...el.reel.children]) {
      const t = Number(old.dataset.t);
      if ((t < first || t > last) && String(t) !== held) old.remove();
    }
    for (let t = first; t <= last; t += 1) thumb(t);
    for (const made of el.reel.children) {
      const here = Number(made.dataset.t) === p;
      if (here) made.setAttribute("aria-current", "page");
      else made.removeAttribute("aria-current");
      made.tabIndex = here ? 0 : -1;
    }
    if (!el.reel.querySelector("[tabindex='0']") && el.reel.firstChild) el.reel.firstChild.tabIndex = 0;
  }

  function thumb(t) {
    let made = el.reel.querySelector(`[data-t="${t}"]`);
    const l = letter(t);
    const hits = state.hits[t] || 0;
    const drawn = `${l}${hits}`;
    if (!made) {
      made = make("button", { type: "button", "data-t": t, style: `left:${(t - 1) * PITCH}px`, onclick: () => go(t) }, make("span", { class: "uo-thumb" }), make("span", { class: "uo-count" }));
      const next = [...el.reel.children].find((one) => Number(one.dataset.t) > t);
      el.reel.insertBefore(made, next || null);
      thumbnail(made, t);
    }
    if (made.dataset.drawn === drawn) return;
    if (made.dataset.drawn && made.dataset.drawn[0] !== l) thumbnail(made, t);
    made.dataset.drawn = drawn;
    const [word, , path] = STATUS[l];
    made.className = l === "o" ? "" : `uo-${toneOf(l)}${l === "f" ? " uo-failed" : ""}`;
    made.title = `Page ${t} of ${ui.doc.total}, ${word}${hits ? `, ${counted(hits, "hit")}` : ""}`;
    made.setAttribute("aria-label", made.title);
    const count = make("span", {}, String(t));
    if (hits) count.style.cssText = "background:#ffe08a;color:#1b1f24;padding:0 3px;border-radius:2px";
    made.lastChild.replaceChildren(...("orw".includes(l) ? [] : [icon(path)]), count);
  }

  async function thumbnail(made, t) {
    const url = await source.thumb(t);
    if (!url || !made.isConnected) return;
    const image = make("img", { alt: "", src: url });
    made.firstChild.replaceChildren(image);
  }

  // ------------------------------------------------------------ foot
  function foot() {
    const facts = (ui.current.node?.dataset.facts || "").split(" · ").filter(Boolean);
    const left = [ui.doc.mode, ...facts].filter(Boolean).map((one) => make("span", {}, one));
    if (state.selected) {
      left.push(make("span", { class: "uo-sep" }));
      if (source.live) left.push(make("code", {}, "uocr.selected()"));
      left.push(make("span", {}, extentOf(state.selected)));
    }
    const counts = Object.keys(STATUS)
      .map((l) => [l, ui.doc.status.split(l).length - 1])
      .filter(([, count]) => count)
      .map(([l, count]) => {
        const [word, , path] = STATUS[l];
        const said = l === "r" ? "being read" : word;
        const made = button(number(count), () => nextOf(l), { shape: path, kind: l === "o" || l === "w" ? "" : `uo-${toneOf(l)}`, title: `Go to the next page that is ${said}`, name: `${counted(count, "page")} ${said}: go to the next` });
        made.append(make("span", { class: "uo-word" }, said));
        if (l === "o") made.firstChild.setAttribute("class", "uo-good");
        return made;
      });
    refill(el.foot, make("span", { class: "uo-facts" }, ...left, ...ask("foot").flat()), ...(ui.doc.total > 1 ? counts : []), make("span", { class: "uo-sep uo-keys" }), make("button", { type: "button", class: "uo-keys", onclick: sheet, "aria-label": "Keys" }, "Keys ", make("kbd", {}, "?")));
    tighten();
  }

  function nextOf(wanted, by = 1) {
    const all = ui.doc.total;
    for (let i = 1; i <= all; i += 1) {
      const p = ((aim - 1 + by * i + all * i) % all) + 1;
      if (typeof wanted === "function" ? wanted(letter(p)) : letter(p) === wanted) return go(p);
    }
    return say("There is no such page.");
  }

  // ------------------------------------------------------------ menu and list of keys
  function popup(node, opener) {
    closePopup();
    el.popup = node;
    el.opener = opener || document.activeElement;
    ui.chrome.append(node);
    (node.querySelector("button") || node).focus();
  }

  function closePopup() {
    if (!el.popup) return false;
    el.popup.remove();
    el.popup = null;
    el.more.setAttribute("aria-expanded", "false");
    if (el.opener?.isConnected) el.opener.focus({ preventScroll: true });
    keepFocus();
    return true;
  }

  function menu() {
    if (closePopup()) return;
    const item = (label, work) => button(label, () => {
      closePopup();
      work();
    }, { role: "menuitem" });
    const box = make(
      "div",
      { class: "uo-menu", role: "menu", "aria-label": "More" },
      item("Copy page", copyPage),
      item(ui.chrome.classList.contains("uo-plain") ? "Show numbers on the page" : "Hide numbers on the page", numbers),
      item("Show all labels", showAll),
      ...ask("menu").flat().map((one) => (one === "-" ? make("hr") : item(one.label, one.work))),
      make("hr"),
      item("Keys", sheet),
    );
    roving(box);
    box.addEventListener("keydown", (event) => rove(box, event));
    el.more.setAttribute("aria-expanded", "true");
    popup(box, el.more);
  }

  function sheet() {
    if (el.popup?.classList.contains("uo-sheet-keys")) return closePopup();
    const list = make("dl");
    const lacks = ask("lacks").flat();
    for (const [keys, words] of [...KEYS.filter(([keys]) => !lacks.includes(keys)), ...ask("keys").flat()]) list.append(make("dt", {}, ...keys.split(" ").flatMap((one) => [make("kbd", {}, one), " "])), make("dd", {}, words));
    const head = make("h2", {}, "Keys", button("", closePopup, { shape: "close", title: "Close" }));
    return popup(make("div", { class: "uo-sheet-keys", role: "dialog", "aria-label": "Keys" }, head, list));
  }

  function numbers() {
    ui.chrome.classList.toggle("uo-plain");
  }

  // ------------------------------------------------------------ keys
  function roving(part, on) {
    const stops = [...part.querySelectorAll("button")].filter((one) => one.style.display !== "none");
    const at = on || stops.find((one) => one === document.activeElement) || stops[0];
    for (const one of stops) one.tabIndex = one === at ? 0 : -1;
  }

  function rove(part, event) {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
    const stops = [...part.querySelectorAll("button")].filter((one) => one.style.display !== "none");
    const at = stops.indexOf(document.activeElement);
    if (at < 0) return;
    event.preventDefault();
    event.stopPropagation();
    const next = by === Infinity ? stops.length - 1 : by === -Infinity ? 0 : (at + by + stops.length) % stops.length;
    stops.forEach((one, i) => (one.tabIndex = i === next ? 0 : -1));
    stops[next].focus();
  }

  function move(by) {
    const numbers = [...new Set([...ui.current.boxes.keys(), ...ui.current.rows.keys()])].sort((a, b) => a - b).filter((n) => !(ui.current.rows.get(n) || ui.current.boxes.get(n)).classList.contains("uo-off"));
    if (!numbers.length) return;
    const side = document.activeElement?.closest?.(".uo-text") ? "text" : "page";
    const now = blockAt(document.activeElement) ?? state.selected;
    const at = numbers.indexOf(now);
    const next = by === Infinity ? numbers.length - 1 : by === -Infinity ? 0 : at < 0 ? (by > 0 ? 0 : numbers.length - 1) : Math.min(numbers.length - 1, Math.max(0, at + by));
    for (const map of [ui.current.boxes, ui.current.rows]) for (const [n, node] of map) node.tabIndex = n === numbers[next] ? 0 : -1;
    focusBlock(numbers[next], side);
  }

  function escape() {
    if (closePopup()) return true;
    if (state.query || el.find.classList.contains("uo-open")) {
      const inside = document.activeElement === el.query;
      closeSearch();
      if (inside) focusBlock(state.selected || 1);
      return true;
    }
    if (state.selected) {
      select(null);
      return true;
    }
    // Leaving: the notebook has the keys again.
    document.activeElement?.blur();
    (ui.root.closest(".jp-Cell") || ui.root.closest(".jp-OutputArea"))?.focus?.({ preventScroll: true });
    return true;
  }

  const DO = {
    ArrowDown: () => move(1),
    ArrowRight: () => move(1),
    ArrowUp: () => move(-1),
    ArrowLeft: () => move(-1),
    Home: () => move(-Infinity),
    End: () => move(Infinity),
    "[": () => go(aim - 1, { focus: true }),
    "]": () => go(aim + 1, { focus: true }),
    "{": () => nextOf((l) => !"orw".includes(l), -1),
    "}": () => nextOf((l) => !"orw".includes(l)),
    "/": openSearch,
    m: () => show("markdown"),
    t: () => show("text"),
    r: () => show("raw"),
    c: () => (state.selected ? copyBlock(state.selected) : copyPage()).then(() => did(actionOf("Copy", "Copy page"))),
    x: () => state.selected && copyData(state.selected).then((copied) => copied && did(actionOf("TSV", "LaTeX"))),
    "+": () => zoom(state.zoom * 1.25),
    "=": () => zoom(state.zoom * 1.25),
    "-": () => zoom(state.zoom / 1.25),
    0: () => zoom(1),
    o: numbers,
    "?": sheet,
  };

  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const typing = event.target.closest("input,textarea,select");
    if (hooks.some((hook) => hook.key?.(ui, event))) {
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      escape();
      return;
    }
    if (typing) return;
    if (event.key === "Enter" || event.key === " ") {
      const n = blockAt(event.target);
      if (n === null || event.target.closest("button")) return;
      event.preventDefault();
      event.stopPropagation();
      select(n === state.selected ? null : n);
      return;
    }
    const work = Object.hasOwn(DO, event.key) ? DO[event.key] : null;
    if (!work) return;
    event.preventDefault();
    event.stopPropagation();
    work();
  }

  function say(words) {
    el.live.textContent = words;
  }

  // ------------------------------------------------------------ changes from outside
  function update(doc) {
    if (!doc) return;
    ui.doc = doc;
    if (ui.root) summary();
    header();
    foot();
    film();
  }

  // What is above the view: the summary, where something is not ok; a long list in it is folded.
  function summary() {
    const bad = ui.doc.total > 1 && /[^orw]/.test(ui.doc.status || "");
    const node = ui.root.querySelector(":scope > .uo-summary");
    node?.classList.toggle("uo-twin", !bad);
    if (!bad || !node || node.dataset.folded) return;
    const rows = [...node.children].slice(1, -1);
    if (rows.length <= MOST_BAD) return;
    node.dataset.folded = "1";
    const rest = rows.slice(MOST_BAD);
    for (const row of rest) row.classList.add("uo-twin");
    const more = make("div", { class: "uo-chrome uo-unfold" }, button(`Show ${number(rest.length)} more`, () => {
      for (const row of rest) row.classList.remove("uo-twin");
      more.remove();
    }, { kind: "uo-link" }));
    paint(more);
    rows.at(-1).after(more);
  }

  function destroy() {
    watching.disconnect();
    listen(false);
    ui.chrome.remove();
    if (!ui.root) return;
    delete ui.root.dataset.on;
    delete ui.root.dataset.lmSuppressShortcuts;
    delete ui.root.dataset.links;
    ui.root.removeEventListener("click", linked);
    for (const node of ui.root.querySelectorAll("[data-folded]")) delete node.dataset.folded;
    for (const node of ui.root.querySelectorAll(".uo-twin")) node.classList.remove("uo-twin");
    ui.root.querySelector(".uo-unfold")?.remove();
  }

  Object.assign(ui, { attach, go, refresh, update, select, hot, reveal, say, show, recount, text, marks, actions, foot, header, chips, dressBox, dressRow, measure, focusBlock, destroy });
  build();
  for (const add of EXTRAS) add(ui);
  watching.observe(ui.chrome);
  return ui;
}

// Called by the inline script, which is the last child of its root.
function boot(script) {
  const root = script?.closest(".uo-root");
  if (!root || "on" in root.dataset) return;
  const driven = window.uocrViews?.get(root.dataset.uid);
  if (driven && !driven.root?.isConnected) {
    driven.attach(root);
    return;
  }
  setFormulas(root);
  const ui = mount(root, new StoredSource(root));
  if (!ui.doc?.total) return;
  ui.attach(root);
  const first = root.querySelector(":scope > .uo-page");
  ui.go(Number(first?.dataset.p) || 1);
}
//#end

//#section compare
const COMPARE_STYLE = `
.uo-chrome.uo-compare{
  .uo-pill,.uo-find,.uo-loupe,.uo-chips,.uo-film,.uo-note code{display:none!important}
  .uo-bar{container:uo-bar/inline-size}
  .uo-left{flex-basis:clamp(240px,28%,400px)}
  .uo-agree{color:var(--uo-soft);font-size:13px;white-space:nowrap;overflow:hidden;text-overflow:ellipsis;min-width:0}
  .uo-agree b{font-weight:600;color:var(--uo-ink)}
  .uo-bar>.uo-sep{align-self:center;height:14px;margin:0 8px;border-left:1px solid var(--uo-line)}
  .uo-foot>button:not(.uo-keys),.uo-facts>:not(.uo-own){display:none}
  .uo-facts>.uo-spring{flex:1 1 0}
  .uo-body{height:max(var(--uo-tall,480px),480px)}
  .uo-right>.uo-text{padding:0 0 24px;container:uo-pane/inline-size}
  .uo-tabs{display:none}
  .uo-only{color:var(--uo-ink);border-radius:2px 2px 0 0}
  .uo-only-a{background:var(--uo-a)!important;border-bottom:2px dashed var(--uo-warn)!important}
  .uo-only-b{background:var(--uo-b)!important;border-bottom:2px solid var(--uo-accent)!important}
  .uo-text :is(.uo-heads,.uo-row.uo-cmp){padding:9px 82px 9px 57px!important;border:0 solid var(--uo-hair)!important;border-width:0 0 1px!important}
  .uo-text .uo-row.uo-cmp{border-left:2px solid transparent!important}
  .uo-text .uo-row.uo-cmp:is(.uo-hot,.uo-sel){border-left-color:var(--c)!important}
  .uo-text .uo-heads{position:sticky!important;top:0;z-index:2;background:var(--uo-ground);padding-left:59px!important;font-size:12px}
  .uo-text .uo-row.uo-cmp>.uo-no{top:9px!important}
  :is(.uo-heads,.uo-cmp>.uo-text){display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);column-gap:16px;height:auto!important}
  :is(.uo-heads,.uo-cmp>.uo-text)>div:not([class]){display:none}
  .uo-side{float:none!important;width:auto!important;min-width:0!important;padding:0!important}
  .uo-said{margin:0!important}
  .uo-letter{display:none}
  .uo-text .uo-share{right:14px!important;top:9px!important;color:var(--uo-soft);opacity:1!important}
  .uo-meter{background:var(--uo-hair)!important;border-radius:2px;overflow:hidden}
  .uo-meter>div{background:var(--uo-soft)!important}
  .uo-same{border:0!important;border-bottom:1px solid var(--uo-hair)!important}
  .uo-same>summary{padding:8px 12px 8px 57px!important;background:var(--uo-second)!important;color:var(--uo-soft)}
  .uo-same>div{padding:4px 0!important}
  summary:focus-visible{outline:2px solid var(--uo-accent);outline-offset:-2px}
  .uo-rest>summary{color:var(--uo-soft);opacity:1!important}
  .uo-left-out{padding:9px 12px 9px 57px}
  @container uo-bar (max-width:780px){.uo-wordy{display:none}}
  @container uo-pane (max-width:540px){
    :is(.uo-heads,.uo-cmp>.uo-text){grid-template-columns:minmax(0,1fr);row-gap:6px}
    .uo-letter{display:inline}
    .uo-said{margin:0 0 0 20px!important}
  }
}
.uo-chrome.uo-compare.uo-narrow{
  .uo-tabs{display:flex}
  .uo-tabs [data-tab=text],.uo-tabs [data-tab=raw],.uo-actions{display:none}
  .uo-agree{order:8;flex:1 1 auto;white-space:normal}
  .uo-bar>.uo-sep,.uo-bar>.uo-spring,.uo-facts>.uo-only{display:none}
  .uo-facts>:is(button,.uo-spring){display:inline-flex}
  .uo-bar>.uo-toggle{order:9}
}
@media print{
  .uo-root[data-view=compare]{
    .uo-paper{align-self:flex-start;width:24%!important;min-width:0!important}
    :is(.uo-heads,.uo-cmp>.uo-text){display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr)}
    :is(.uo-heads,.uo-cmp>.uo-text)>div:not([class]){display:none}
    .uo-side{float:none!important;width:auto!important;min-width:0!important}
  }
}
`;

// Two runs side by side: what is the same is folded, n and p walk through what differs, on the page and in the text.
function comparing(ui) {
  if (!Array.isArray(ui.doc?.names)) return;
  const { el, state, source } = ui;
  let only = true; // what is the same is folded

  const differing = () => [...ui.current.rows].filter(([, row]) => row.classList.contains("uo-cmp")).map(([n]) => n);
  const stored = (p) => !source.twin || !!source.twin(p);

  const agree = make("span", { class: "uo-agree" });
  const toggle = button("Differences only", () => fold(!only), { kind: "uo-framed uo-toggle", "aria-pressed": "true" });

  function fold(on) {
    only = on;
    toggle.setAttribute("aria-pressed", String(on));
    for (const one of el.text.querySelectorAll("details")) one.open = !on;
    ui.measure();
  }

  function page() {
    const { node } = ui.current;
    ui.chrome.setAttribute("aria-label", `${ui.doc.name}, comparison`);
    const here = node?.dataset.same || (ui.doc.differ[state.page - 1] ? "" : "100 %");
    const many = ui.doc.total > 1;
    const parts = here ? [make("b", {}, here), " the same", ...(many ? [make("span", { class: "uo-wordy" }, " on this page"), ", "] : [])] : [];
    agree.replaceChildren(...parts, ...(many ? [make("b", {}, ui.doc.agreement), " in all"] : []));
    if (!node) {
      const words = ui.doc.differ[state.page - 1] ? "This page is not in the saved notebook. " : "This page is the same in both runs. ";
      el.text.replaceChildren(make("div", { class: "uo-say", style: "padding:10px 14px" }, words, make("code", {}, `comparison.page(${state.page})`)));
      return;
    }
    for (const one of el.text.querySelectorAll("details")) one.open = !only;
    for (const mark of el.text.querySelectorAll(".uo-only")) {
      mark.setAttribute("role", "mark");
      mark.setAttribute("aria-description", mark.title);
    }
  }

  async function step(by) {
    const here = differing();
    const at = here.indexOf(state.selected);
    const held = ui.chrome.contains(document.activeElement);
    let n = at < 0 ? here[by > 0 ? 0 : here.length - 1] : here[at + by];
    if (n === undefined) {
      let p = state.page + by;
      while (p >= 1 && p <= ui.doc.total && !(ui.doc.differ[p - 1] && stored(p))) p += by;
      if (p < 1 || p > ui.doc.total) return ui.say(by > 0 ? "This is the last difference." : "This is the first difference.");
      await ui.go(p);
      const there = differing();
      n = there[by > 0 ? 0 : there.length - 1];
      if (n === undefined) return undefined;
    }
    ui.select(n);
    ui.reveal(n);
    if (held) ui.focusBlock(n, "text");
    const now = differing();
    return ui.say(`Difference ${now.indexOf(n) + 1} of ${now.length}. ${ui.current.rows.get(n)?.getAttribute("aria-label") || ""}`);
  }

  // Through the blocks that can be seen, one way or the other.
  function move(key) {
    const seen = [...ui.current.rows].filter(([n, row]) => ui.current.boxes.has(n) || row.offsetParent).map(([n]) => n);
    const side = document.activeElement?.closest?.(".uo-mat") ? "page" : "text";
    const pool = side === "page" ? seen.filter((n) => ui.current.boxes.has(n)) : seen;
    const at = pool.indexOf(Number(document.activeElement?.closest?.("[data-b]")?.dataset.b) || state.selected);
    const by = key === "ArrowDown" || key === "ArrowRight" ? 1 : -1;
    const to = key === "Home" ? 0 : key === "End" ? pool.length - 1 : at < 0 ? (by > 0 ? 0 : pool.length - 1) : Math.min(pool.length - 1, Math.max(0, at + by));
    if (pool.length) ui.focusBlock(pool[to], side);
  }

  function turn(by) {
    let p = state.page + by;
    while (p >= 1 && p <= ui.doc.total && !ui.doc.differ[p - 1]) p += by;
    if (p >= 1 && p <= ui.doc.total) ui.go(p, { focus: true });
  }

  const KEYS_HERE = {
    n: () => step(1),
    p: () => step(-1),
    "{": () => turn(-1),
    "}": () => turn(1),
    d: () => fold(!only),
  };

  ui.hooks.push({
    page,
    foot: () => {
      const { node } = ui.current;
      const words = node?.dataset.agree ? [make("span", { class: "uo-own" }, `A and B agree on ${node.dataset.agree}`), make("span", { class: "uo-own uo-sep" })] : [];
      const mark = (side) => make("span", { class: `uo-own uo-only uo-only-${"ab"[side]}` }, `only in ${"AB"[side]}`);
      const next = button("Next difference", () => step(1), { kind: "uo-own", title: "Next difference (n)", name: "Next difference" });
      next.append(make("kbd", { "aria-hidden": "true" }, "n"));
      return [...words, mark(0), mark(1), make("span", { class: "uo-own uo-spring" }), next];
    },
    keys: () => [["n p", "next, previous difference"], ["d", "differences only, or all"]],
    lacks: () => ["/", "m t r", "{ }"],
    key: (_ui, event) => {
      if (event.target.closest("input,textarea,select")) return false;
      const summary = event.target.closest("summary");
      if (summary && (event.key === "Enter" || event.key === " ")) {
        summary.parentElement.open = !summary.parentElement.open;
        return true;
      }
      if (/^(Arrow|Home|End)/.test(event.key) && !event.target.closest(".uo-menu")) move(event.key);
      else if (Object.hasOwn(KEYS_HERE, event.key)) KEYS_HERE[event.key]();
      else return ["/", "m", "t", "r"].includes(event.key);
      return true;
    },
  });

  const style = make("style");
  style.textContent = COMPARE_STYLE;
  ui.chrome.prepend(style);
  ui.chrome.classList.add("uo-compare");
  el.tablist.querySelector("[data-tab=markdown]").textContent = "A and B";
  el.more.before(agree, make("span", { class: "uo-sep" }), toggle);
  // Unfolding is no selecting.
  el.text.addEventListener("click", (event) => event.target.closest("summary") && event.stopPropagation());
}
EXTRAS.push(comparing);
//#end

//#section edit
// Label -> its code and family (as labels.py has them); any other is of the family text.
const LABELS = {
  title: "Ti title",
  subtitle: "Ti title",
  text: "Tx text",
  list: "Li list",
  table: "Tb table",
  equation: "Eq equation",
  algorithm: "Al equation",
  image: "Im figure",
  chart: "Ch figure",
  image_caption: "Ca caption",
  table_caption: "Ca caption",
  code: "Co code",
  header: "Hd furniture",
  footer: "Fo furniture",
  page_number: "Pn furniture",
  page_footnote: "Fn furniture",
  aside_text: "As furniture",
  ref_text: "Rf furniture",
};
const EDITS = ["edit", "delete", "undo", "redo"];
const OTHER = "another label …";
const EXTENT = 999; // of a page along each axis, in boxes

const EDIT_STYLE = `
.uo-chrome{
  .uo-row.uo-editing>.uo-text{display:none!important}
  .uo-row.uo-editing>.uo-no{color:var(--uo-ink)}
  .uo-edit{display:flex;flex-direction:column;gap:8px;padding:2px 0 4px;cursor:default;white-space:normal}
  .uo-edit textarea{display:block;width:100%;min-height:62px;max-height:min(46vh,420px);padding:8px 10px;border:1px solid var(--uo-frame);border-radius:4px;background:var(--uo-ground);color:var(--uo-ink);font:400 13px/19.5px var(--jp-content-font-family,system-ui,sans-serif);resize:vertical;field-sizing:content;unicode-bidi:plaintext;overflow-wrap:anywhere}
  .uo-edit textarea:focus-visible{outline:2px solid var(--uo-accent);outline-offset:-1px}
  .uo-edit textarea.uo-mono{font:400 11px/17px var(--jp-code-font-family,ui-monospace,monospace)}
  .uo-edit>div{display:flex;flex-wrap:wrap;align-items:center;justify-content:space-between;gap:6px}
  .uo-edit>div>div{display:flex;flex-wrap:wrap;align-items:center;gap:6px}
  .uo-edit button{font-size:12px;line-height:16px}
  .uo-edit button.uo-framed{background:var(--uo-ground)}
  .uo-choose{position:relative;display:inline-flex;align-items:center;gap:6px;height:26px;padding:0 0 0 6px;border:1px solid var(--uo-frame);border-radius:4px;background:var(--uo-ground)}
  .uo-choose:focus-within{outline:2px solid var(--uo-accent);outline-offset:1px}
  .uo-choose select{appearance:none;field-sizing:content;max-width:180px;height:24px;padding:0 24px 0 0;border:0;background:none;outline:none!important;font:400 12px/16px var(--jp-ui-font-family,system-ui,sans-serif);color:var(--uo-ink);cursor:pointer}
  .uo-choose option{background:var(--uo-ground);color:var(--uo-ink)}
  .uo-choose>svg{position:absolute;right:6px;width:12px;height:12px;pointer-events:none}
  .uo-edit input{width:130px;height:26px;padding:0 6px;border:1px solid var(--uo-frame);border-radius:4px;background:var(--uo-ground);font:400 12px/16px var(--jp-ui-font-family,system-ui,sans-serif)}
  .uo-edit .uo-quiet{font-weight:400;color:var(--uo-soft)}
  .uo-edit .uo-refused:empty{display:none}
  .uo-edit .uo-refused{color:var(--uo-error);font:400 12px/16px var(--jp-ui-font-family,system-ui,sans-serif);overflow-wrap:anywhere}
  .uo-box.uo-editing{cursor:move;touch-action:none;outline:2px solid var(--uo-paper-accent)!important;outline-offset:2px!important;z-index:400!important}
  .uo-box.uo-editing>.uo-tag[style*="right:100%"]{translate:-7px 0}
  .uo-box.uo-editing::after{border-color:var(--uo-paper-accent)!important}
  .uo-grip{position:absolute;z-index:4;width:9px;height:9px;margin:-4.5px;background:#fff;border:1.5px solid #1565c0;border-radius:1px}
  .uo-grip::before{content:"";position:absolute;inset:-9px}
}
.uo-chrome{--uo-paper-accent:#1565c0}
.uo-chrome.uo-narrow{
  .uo-edit .uo-keyed kbd{display:none}
  .uo-actions .uo-worded>span{display:inline;margin:0;color:inherit}
}
`;

// Correcting in place: the row becomes a field with its label, the box gets handles. Python keeps what is corrected.
function editing(ui) {
  const { el, state, source } = ui;
  let draft = null; // what is typed and not kept yet; it outlives a look at another page
  let form = null;
  let mode = false; // from the first block that is opened to "Done editing"
  let typing = false;

  const can = () => source.can.has("edit") && !source.running && !"rw".includes(ui.doc?.status[state.page - 1] ?? "w");
  const kindOf = (label) => (Object.hasOwn(LABELS, label) ? LABELS[label].split(" ") : [codeOf(label), "text"]);
  const editsHere = () => Number(ui.current.node?.dataset.edits) || 0;
  const changed = () => !!draft && (draft.text !== draft.was.text || draft.label !== draft.was.label || String(draft.box) !== String(draft.was.box));

  function codeOf(label) {
    const letters = [...label].filter((c) => /[\p{L}\p{N}]/u.test(c)).slice(0, 2).join("");
    return letters ? letters[0].toUpperCase() + letters.slice(1).toLowerCase() : "??";
  }

  function boxOf(n) {
    const box = ui.current.boxes.get(n);
    if (!box) return null;
    const [x, y, w, h] = ["left", "top", "width", "height"].map((side) => Number.parseFloat(box.style[side]));
    return [x, y, x + w, y + h].map((share) => Math.round((share / 100) * EXTENT));
  }

  const tell = (words) => (source.ontell || ui.say)(words);

  // ------------------------------------------------------------ open and close
  async function open(n) {
    const row = ui.current.rows.get(n);
    if (!row || !can()) return;
    if (draft && (draft.p !== state.page || draft.n !== n)) {
      if (changed()) {
        ui.say(`The edit of block ${draft.n} on page ${draft.p} is open: keep or cancel it first.`);
        if (draft.p !== state.page) await ui.go(draft.p);
        focusField();
        return;
      }
      close();
    }
    if (draft) return focusField();
    const p = state.page;
    let text = source.textOf?.(p, n) ?? null;
    try {
      if (text === null) ({ text } = await source.ask("text", { p, n }));
    } catch (error) {
      tell(error.message);
      return;
    }
    if (p !== state.page || draft) return;
    const was = { text, label: row.dataset.l, box: boxOf(n) };
    draft = { p, n, was, text: was.text, label: was.label, box: was.box && [...was.box] };
    mode = true;
    if (state.tab !== "markdown") ui.show("markdown");
    if (state.selected !== n) ui.select(n);
    install(true);
    ui.actions();
    ui.say(`Editing block ${n}. Control Enter keeps, Escape gives up.`);
  }

  function close() {
    if (!draft) return;
    const { p, n } = draft;
    const inside = form?.contains(document.activeElement) || typing;
    draft = null;
    typing = false;
    form?.remove();
    form = null;
    if (p === state.page) {
      ui.current.rows.get(n)?.classList.remove("uo-editing");
      handles(n, false);
      if (inside) ui.focusBlock(n, "text");
    }
    ui.actions();
  }

  function cancel() {
    if (!draft) return;
    const { n, was } = draft;
    if (draft.p === state.page && was.box) place(n, was.box);
    close();
    ui.say("Nothing was changed.");
  }

  async function keep() {
    if (!draft) return true;
    const { p, n, was } = draft;
    const given = { p, n, before: was.text };
    if (draft.text !== was.text) given.text = draft.text;
    if (draft.label !== was.label) given.label = draft.label;
    if (String(draft.box) !== String(was.box)) given.box = draft.box;
    if (!changed()) {
      close();
      return true;
    }
    return ask("edit", given, "Kept.");
  }

  function remove() {
    const { p, n, was } = draft;
    return ask("delete", { p, n, before: was.text }, `Block ${n} is deleted. Undo brings it back.`);
  }

  // Asks Python; where it refuses, the draft stays, with the reason under it.
  async function ask(kind, given, words) {
    const field = form;
    busy(field, true);
    try {
      await source.ask(kind, given);
    } catch (error) {
      busy(field, false);
      if (error.busy) close(); // it waits in the kernel, and the view says so
      else refused(error.message);
      return !!error.busy;
    }
    if (kind === "delete") ui.select(null);
    close();
    await ui.refresh();
    if (kind === "delete") ui.focusBlock(Math.min(given.n, ui.current.rows.size), "text");
    ui.say(words);
    return true;
  }

  function busy(field, on) {
    for (const one of field?.querySelectorAll("button,select,input,textarea") || []) one.disabled = on;
  }

  function refused(words) {
    const place = form?.querySelector(".uo-refused");
    if (place) place.textContent = words;
    else ui.say(words);
    focusField();
  }

  async function turn(kind) {
    if (!can()) return;
    try {
      const { p, n, what } = await source.ask(kind, {});
      const done = kind === "undo" ? "Undone" : "Done again";
      if (p && p !== state.page) await ui.go(p);
      else await ui.refresh();
      if (n && ui.current.rows.has(n)) {
        ui.reveal(n);
        ui.hot(n);
      }
      ui.say(n ? `${done}: ${what === "delete" ? "deletion" : what} of block ${n} on page ${p}.` : `${done}.`);
    } catch (error) {
      ui.say(error.message);
    }
  }

  async function finish() {
    if (!(await keep())) return;
    mode = false;
    ui.actions();
    ui.focusBlock(state.selected || 1, "text");
  }

  // ------------------------------------------------------------ the field in the row
  function install(fresh) {
    const row = ui.current.rows.get(draft.n);
    if (!row) {
      const { n } = draft;
      close();
      ui.say(`Block ${n} is not there any more.`);
      return;
    }
    form ||= build();
    row.classList.add("uo-editing");
    row.classList.remove("uo-off");
    row.append(form);
    place(draft.n, draft.box);
    handles(draft.n, true);
    // Whoever writes elsewhere by now, such as in another view of the document, is left there.
    const now = document.activeElement;
    const away = !ui.chrome.contains(now) && now?.closest(".uo-root,input,textarea,[contenteditable=true]");
    if (fresh || (typing && !away)) focusField(fresh);
    if (!away) ui.reveal(draft.n);
  }

  function focusField(toEnd) {
    const area = form?.querySelector("textarea");
    if (!area?.isConnected) return;
    area.focus({ preventScroll: true });
    if (toEnd) area.setSelectionRange(area.value.length, area.value.length);
  }

  function build() {
    const { n } = draft;
    const mono = /^\s*(?:<|\\|\$)/.test(draft.text) || LABELS[draft.label]?.endsWith("code");
    const area = make("textarea", {
      class: mono ? "uo-mono" : "",
      dir: "auto",
      rows: Math.min(16, 1 + draft.text.split("\n").length),
      spellcheck: "true",
      "aria-label": `Text of block ${n}`,
      oninput: () => (draft.text = area.value),
    });
    area.value = draft.text;
    // A field has its own line ends; what was not typed over stays as it was.
    if (area.value !== draft.text) draft.was.text = draft.text = area.value;
    const kind = () => make("span", { class: "uo-tile", "data-f": kindOf(draft.label)[1], "aria-hidden": "true" }, kindOf(draft.label)[0]);
    let tile = kind();
    const retile = () => {
      const next = kind();
      tile.replaceWith(next);
      tile = next;
    };
    const free = make("input", {
      type: "text",
      hidden: true,
      maxlength: 64,
      spellcheck: "false",
      placeholder: "its name",
      "aria-label": `Other label of block ${n}`,
      oninput: () => {
        draft.label = free.value.trim();
        retile();
      },
    });
    free.style.display = "none";
    const own = [...ui.current.rows.values()].map((row) => row.dataset.l);
    const names = [...new Set([...Object.keys(LABELS), ...own, draft.label])];
    const select = make(
      "select",
      {
        "aria-label": `Label of block ${n}`,
        onchange: () => {
          const other = select.value === "";
          free.hidden = !other;
          free.style.display = other ? "" : "none";
          draft.label = other ? free.value.trim() : select.value;
          if (other) free.focus();
          retile();
        },
      },
      ...names.map((name) => make("option", { value: name, selected: name === draft.label }, name)),
      make("option", { value: "" }, OTHER),
    );
    const cancelled = button("Cancel", cancel, { kind: "uo-framed uo-keyed", name: "Cancel", title: "Give up this edit (Esc)" });
    cancelled.append(make("kbd", { "aria-hidden": "true" }, "Esc"));
    const made = make(
      "div",
      { class: "uo-edit", role: "group", "aria-label": `Edit block ${n}`, onkeydown: keys },
      area,
      make(
        "div",
        {},
        make("div", {}, make("span", { class: "uo-choose" }, tile, select, icon("down")), free, button("Delete block", remove, { shape: "close", kind: "uo-quiet" })),
        make("div", {}, cancelled, button("Keep", keep, { kind: "uo-main", title: "Keep this edit (Ctrl+Enter)", name: "Keep" })),
      ),
      make("div", { class: "uo-refused", role: "alert" }),
    );
    return made;
  }

  function keys(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      event.stopPropagation();
      keep();
    }
  }

  // ------------------------------------------------------------ the box
  function place(n, at) {
    const box = ui.current.boxes.get(n);
    if (!box || !at) return;
    const share = (value) => `${(value / EXTENT) * 100}%`;
    const [x1, y1, x2, y2] = at;
    Object.assign(box.style, { left: share(x1), top: share(y1), width: share(x2 - x1), height: share(y2 - y1) });
  }

  function handles(n, on) {
    const box = ui.current.boxes.get(n);
    if (!box) return;
    box.classList.toggle("uo-editing", on);
    for (const grip of box.querySelectorAll(".uo-grip")) grip.remove();
    box.removeAttribute("aria-description");
    if (!on) return;
    box.setAttribute("aria-description", "Arrow keys move it by one thousandth, with Shift they size it.");
    for (const y of [-1, 0, 1]) {
      for (const x of [-1, 0, 1]) {
        if (!x && !y) continue;
        const cursor = x && y ? (x === y ? "nwse" : "nesw") : x ? "ew" : "ns";
        box.append(make("i", { class: "uo-grip", "data-x": x, "data-y": y, style: `left:${(x + 1) * 50}%;top:${(y + 1) * 50}%;cursor:${cursor}-resize` }));
      }
    }
  }

  // The box moved by so many thousandths, or only the sides that `x` and `y` name (-1 left or top, 1 right or bottom).
  function pulled([x1, y1, x2, y2], dx, dy, x, y) {
    const within = (value, low, high) => Math.min(high, Math.max(low, value));
    if (!x && !y) {
      const across = within(dx, -x1, EXTENT - x2);
      const along = within(dy, -y1, EXTENT - y2);
      return [x1 + across, y1 + along, x2 + across, y2 + along];
    }
    return [
      x < 0 ? within(x1 + dx, 0, x2 - 1) : x1,
      y < 0 ? within(y1 + dy, 0, y2 - 1) : y1,
      x > 0 ? within(x2 + dx, x1 + 1, EXTENT) : x2,
      y > 0 ? within(y2 + dy, y1 + 1, EXTENT) : y2,
    ];
  }

  function pull(event) {
    const box = draft && draft.p === state.page && draft.box && ui.current.boxes.get(draft.n);
    if (!box?.contains(event.target) || event.button) return;
    event.preventDefault();
    const { x = 0, y = 0 } = event.target.dataset;
    const start = [...draft.box];
    const sheet = box.closest(".uo-sheet");
    const moved = (now) => {
      const dx = Math.round(((now.clientX - event.clientX) / sheet.clientWidth) * EXTENT);
      const dy = Math.round(((now.clientY - event.clientY) / sheet.clientHeight) * EXTENT);
      draft.box = pulled(start, dx, dy, Number(x), Number(y));
      place(draft.n, draft.box);
    };
    const ended = () => {
      box.removeEventListener("pointermove", moved);
      box.removeEventListener("pointerup", ended);
      box.removeEventListener("pointercancel", ended);
    };
    box.setPointerCapture(event.pointerId);
    box.addEventListener("pointermove", moved);
    box.addEventListener("pointerup", ended);
    box.addEventListener("pointercancel", ended);
    box.focus({ preventScroll: true });
  }

  function nudge(event) {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!by || !draft?.box) return false;
    draft.box = event.shiftKey ? pulled(draft.box, by[0], by[1], by[0] ? 1 : 0, by[1] ? 1 : 0) : pulled(draft.box, by[0], by[1], 0, 0);
    place(draft.n, draft.box);
    ui.say(`Box ${draft.box.join(", ")}`);
    return true;
  }

  // ------------------------------------------------------------ what the view asks
  const words = () => make("span", { class: "uo-edits" }, `${counted(editsHere(), "edit")} on this page`);
  const undoing = () => button("Undo", () => turn("undo"), { shape: "undo", title: "Undo the last edit (z)", name: "Undo" });

  ui.hooks.push({
    actions: (_ui, n) => (can() ? [button("Edit", () => open(n), { shape: "pen", title: "Correct text, label or box (e)", name: "Edit" })] : []),
    pageActions: () => (can() && editsHere() ? [words(), undoing()] : []),
    tab: () => {
      if (!mode || !can()) return null;
      return [...(editsHere() ? [words()] : []), ...(ui.doc.edits ? [undoing()] : []), button("Done editing", finish, { kind: "uo-framed uo-toggle uo-worded", "aria-pressed": "true" })];
    },
    foot: () => (ui.doc.edits ? [make("span", {}, `${counted(ui.doc.edits, "edit")} kept in `, make("code", {}, "doc.edits"))] : []),
    keys: () => (can() ? [["e", "edit block; Ctrl+Enter keeps, Esc gives up"], ["z Shift+Z", "undo, redo an edit"]] : []),
    menu: () => {
      if (!can()) return [];
      const edit = state.selected ? [{ label: `Edit block ${state.selected}`, work: () => open(state.selected) }] : [];
      return ["-", ...edit, ...(ui.doc.edits ? [{ label: "Undo the last edit", work: () => turn("undo") }] : []), { label: "Redo", work: () => turn("redo") }];
    },
    page: () => {
      if (draft && draft.p === state.page) install(false);
    },
    key: (_ui, event) => {
      const inside = form?.contains(event.target);
      if (event.key === "Escape") {
        if (inside || (draft && !state.query)) cancel();
        else if (mode && !state.query && !el.popup) finish();
        else return false;
        return true;
      }
      if (inside || event.target.closest("input,textarea,select") || !can()) return false;
      if (draft && draft.p === state.page && Number(event.target.closest(".uo-box")?.dataset.b) === draft.n && nudge(event)) return true;
      const n = Number(event.target.closest("[data-b]")?.dataset.b) || state.selected;
      if (event.key === "e" && n) open(n);
      else if (event.key === "z") turn("undo");
      else if (event.key === "Z") turn("redo");
      else return false;
      return true;
    },
  });

  const style = make("style");
  style.textContent = EDIT_STYLE;
  ui.chrome.prepend(style);
  ui.chrome.addEventListener("dblclick", (event) => {
    const n = Number(event.target.closest("[data-b]")?.dataset.b);
    if (!n || !can() || event.target.closest("button,textarea,input,select,a")) return;
    event.preventDefault();
    open(n);
  });
  // The second click of two, and one on what is being edited, select nothing.
  ui.chrome.addEventListener(
    "click",
    (event) => {
      const n = Number(event.target.closest("[data-b]")?.dataset.b);
      const open = draft && draft.p === state.page && n === draft.n;
      if (n && can() && !event.target.closest("button") && (event.detail > 1 || open)) event.stopPropagation();
    },
    true,
  );
  el.mat.addEventListener("pointerdown", pull);
  ui.chrome.addEventListener("focusin", (event) => (typing = !!form?.contains(event.target)));
}
EXTRAS.push(editing);
//#end

//#section live
const TAKEN = 800; // ms after which a kernel that has said nothing is taken for a busy one
const SOON = 350; // ms for which a page that was asked for is waited for before what is there is shown
const KEPT = 40e6; // characters of pages that are kept here
const BUSY = "The kernel is busy. This comes when the cell has ended.";
const GONE = "The kernel that this belongs to has gone. What is here stays.";
const CLOSED = "This view is closed. doc.view() opens another.";

const LIVE_STYLE = `
.uo-chrome{
  .uo-run{position:relative;display:flex;flex-wrap:wrap;align-items:center;min-height:34px;padding:3px 10px 3px 14px;border-bottom:1px solid var(--uo-hair);color:var(--uo-soft)}
  .uo-run>b{font-weight:600;color:var(--uo-ink)}
  .uo-run>.uo-rest{display:contents}
  .uo-run>.uo-share{position:absolute;left:0;right:0;top:-1px;height:2px;background:var(--uo-hair)}
  .uo-run>.uo-share>i{display:block;height:2px;background:var(--uo-accent);transition:width .2s}
  .uo-run>.uo-word{flex:1 1 100%;padding:2px 0 4px;color:var(--uo-warn)}
  .uo-run>button{margin:0}
  .uo-run[hidden]{display:none}
  .uo-run{gap:0 16px}
  .uo-run>.uo-stop{margin-left:-8px}
  .uo-run>button[aria-pressed=true]{background:var(--uo-tint);color:var(--uo-accent)}
  .uo-run>.uo-stop::before{content:"";width:8px;height:8px;background:currentColor}
  .uo-told{display:flex;align-items:center;min-height:34px;padding:3px 14px;border-bottom:1px solid var(--uo-hair);color:var(--uo-ink)}
  .uo-box.uo-written{z-index:2!important}
  .uo-row.uo-written{background-color:color-mix(in srgb,var(--c) var(--uo-strength),transparent)!important;border-left-color:var(--c)!important}
  .uo-caret{background-color:var(--uo-accent)!important;animation:uo-blink 1.1s steps(2,jump-none) infinite}
}
.uo-chrome.uo-narrow .uo-run>.uo-rest{display:flex;order:1;flex:1 1 100%;gap:12px;min-height:20px;overflow:hidden;white-space:nowrap}
@keyframes uo-blink{from{opacity:1}to{opacity:.15}}
`;

const pieceOf = (html) => {
  const made = make("template");
  made.innerHTML = html;
  return made.content.firstElementChild;
};

const WHEN_DONE = ["edit", "save", "rerun"]; // what takes a document, which is not there while its pages are read

// Pages of a document that Python holds: asked for when they are looked at, and kept.
class ModelSource {
  constructor(model) {
    this.model = model;
    this.live = true;
    this.can = new Set(["crop", ...WHEN_DONE]);
    this.pages = new Map(); // position -> what Python sent of it
    this.growing = new Map(); // position -> what has come of a page being read
    this.small = new Map(); // position -> thumbnail
    this.size = 0;
    this.waits = new Map(); // number of a message -> who waits for its answer
    this.number = Math.floor(Math.random() * 1e9);
    this.heard = 0; // when the kernel answered last
    this.deaf = false;
    this.gone = "";
    this.chosen = [0, 0];
    this.at = 0; // the page that is shown
    this.failed = new Map(); // position -> why Python could not send it
    this.looking = new Map(); // position -> the promise of who asks for it
    this.outdated = new Set();
    this.wanted = [];
    this.onpage = () => {};
    this.onthumb = () => {};
    this.onheard = () => {};
    this.ontell = () => {};
  }

  // ------------------------------------------------------------ messages
  send(content) {
    this.number += 1;
    try {
      this.model.send({ ...content, seq: this.number });
    } catch {
      this.lose(GONE);
    }
    return this.number;
  }

  // Sends a question; `taken` says within TAKEN whether the kernel has it, `answer` is what it says.
  question(content) {
    const wait = { content, parts: [] };
    wait.answer = new Promise((done, fail) => Object.assign(wait, { done, fail }));
    wait.answer.catch(() => {});
    wait.taken = new Promise((done) => (wait.acked = done));
    if (this.gone) {
      wait.acked(false);
      wait.fail(new Error(this.gone));
      return wait;
    }
    wait.number = this.send(content);
    this.waits.set(wait.number, wait);
    setTimeout(() => {
      wait.acked(!!wait.has);
      if (!this.waits.has(wait.number) || wait.has || this.deaf) return;
      this.deaf = true;
      this.onheard();
    }, this.deaf ? 120 : TAKEN);
    return wait;
  }

  take(content, buffers) {
    const wait = this.waits.get(content.seq);
    this.heard = Date.now();
    const first = this.deaf || !this.met;
    this.deaf = false;
    this.met = true;
    if (content.kind === "ack" && wait) {
      wait.has = true;
      wait.acked(true);
    } else if (content.kind === "part" && wait) wait.parts.push(...(buffers || []));
    else if (content.kind === "reply" && wait) {
      this.waits.delete(content.seq);
      wait.has = true;
      wait.acked(true);
      if (content.error) wait.fail(Object.assign(new Error(content.error), { next: content.next }));
      else wait.done({ ...content, buffers: [...wait.parts, ...(buffers || [])] });
    }
    if (first) {
      // What was sent before the kernel listened may lie behind the cell.
      for (const one of [...this.waits.values()]) {
        if (one.has || !["page", "thumbs", "find", "hello"].includes(one.content.kind)) continue;
        this.waits.delete(one.number);
        one.number = this.send(one.content);
        this.waits.set(one.number, one);
      }
      this.onheard();
    }
  }

  async ask(kind, data = {}) {
    const wait = this.question({ ...data, kind });
    if (!(await wait.taken) && !this.gone) {
      if (kind === "rerun") wait.answer.then(({ said }) => this.ontell(said), (error) => this.ontell(error.message));
      if (EDITS.includes(kind)) {
        this.ontell("The kernel is busy. What you changed is kept when the cell has ended.");
        wait.answer.then(() => this.ontell(""), (error) => this.ontell(error.message));
      }
      throw Object.assign(new Error(BUSY), { busy: true });
    }
    if (kind === "rerun") this.ontell("");
    let answer;
    try {
      answer = await wait.answer;
    } catch (error) {
      if (kind === "rerun") this.ontell(error.next ? `${error.message} Next: ${error.next}` : error.message);
      throw error;
    }
    if (kind === "rerun") this.ontell(answer.said);
    if (kind === "crop") return new Blob(answer.buffers, { type: answer.mime });
    if (kind === "save") return { name: answer.name, blob: new Blob(answer.buffers) };
    return answer;
  }

  lose(words) {
    if (this.gone) return;
    this.gone = words;
    this.can.clear();
    this.live = false;
    for (const wait of this.waits.values()) {
      wait.acked(false);
      wait.fail(new Error(words));
    }
    this.waits.clear();
    this.onlost?.();
  }

  // ------------------------------------------------------------ what it is
  doc() {
    const doc = this.model.get("doc");
    if (doc?.total) return { ...doc, status: this.model.get("status") || "" };
    return this.root ? new StoredSource(this.root).doc() : null;
  }

  letter(p) {
    return this.doc()?.status[p - 1] || "w";
  }

  get running() {
    return "progress" in (this.model.get("live") || {});
  }

  // ------------------------------------------------------------ pages
  keep(payload) {
    const { p } = payload;
    const before = this.pages.get(p);
    if (before && payload.v < 0) return;
    if (before) this.size -= before.html.length;
    this.pages.delete(p);
    this.pages.set(p, payload);
    this.size += payload.html.length;
    if (payload.thumb) this.small.set(p, payload.thumb);
    this.growing.delete(p);
    this.failed.delete(p);
    for (const [oldest, page] of this.pages) {
      if (this.size < KEPT || oldest === p) break;
      this.pages.delete(oldest);
      this.size -= page.html.length;
    }
    this.onpage(p, before?.v !== payload.v);
  }

  forget(positions) {
    for (const p of positions) {
      if (this.looking.has(p)) this.outdated.add(p);
      const page = this.pages.get(p);
      if (!page) continue;
      this.size -= page.html.length;
      this.pages.delete(p);
    }
  }

  node(p) {
    const kept = this.pages.get(p);
    if (kept) {
      const node = pieceOf(kept.html);
      node.dataset.edits = kept.edits || 0;
      this.pages.delete(p);
      this.pages.set(p, kept);
      return node;
    }
    if (this.growing.has(p)) return this.grown(p);
    const twin = this.root && this.root.dataset.view !== "live" ? new StoredSource(this.root).twin(p) : null;
    if (twin) return twin.cloneNode(true);
    const l = this.letter(p);
    if (this.gone) return null;
    if (l === "w") return this.note(p, this.running ? `Page ${p} waits. It is read after those before it.` : `Page ${p} was not read.`);
    if (l === "r") return this.note(p, `Page ${p} is being read.`);
    if (this.failed.has(p) && !this.deaf) return this.note(p, this.failed.get(p));
    return this.note(p, this.deaf ? `Page ${p} is done. The kernel is busy; it shows when the cell has ended.` : `Page ${p} is on its way.`);
  }

  note(p, words) {
    const sheet = make("div", { class: "uo-sheet", style: "background-color:#fff" }, make("div", { class: "uo-blank", style: "padding:141.4% 0 0" }));
    const paper = make("div", { class: "uo-paper" }, sheet);
    return make("div", { class: "uo-page", "data-p": p }, make("div", { class: "uo-panes" }, paper, make("div", { class: "uo-pane" }, make("div", { class: "uo-say", style: "padding-left:14px" }, words))));
  }

  async load(p) {
    const kept = this.pages.get(p);
    const whole = kept && kept.v >= 0;
    if (!whole && !this.gone && !"w".includes(this.letter(p)) && !(this.letter(p) === "r" && this.growing.has(p))) {
      await Promise.race([this.fetch(p), new Promise((done) => setTimeout(done, this.deaf || kept ? 60 : SOON))]);
    }
    if (!this.gone && this.pages.get(p)?.v >= 0) this.ahead(p);
    return this.node(p);
  }

  // Asks for a page once, whoever waits for it; it is shown when it comes.
  fetch(p) {
    if (!this.looking.has(p)) this.looking.set(p, this.fetchNow(p).finally(() => this.looking.delete(p)));
    return this.looking.get(p);
  }

  async fetchNow(p) {
    try {
      do {
        this.outdated.delete(p);
        const { page } = await this.question({ kind: "page", p }).answer;
        // A page that changed while its answer was on its way is asked for once more.
        if (this.outdated.has(p)) continue;
        if (page) this.keep(page);
        else if (this.letter(p) !== "r") setTimeout(() => this.fetch(p), 500);
      } while (this.outdated.has(p));
    } catch (error) {
      // What is there stands in its place; where nothing is, the reason.
      if (this.gone || this.failed.get(p) === error.message) return;
      this.failed.set(p, error.message);
      this.onpage(p, !this.pages.has(p));
    }
  }

  // The next page is most likely the one that is looked at next.
  ahead(p) {
    const next = p + 1;
    if (this.deaf || this.looking.size || next > this.doc().total || this.pages.get(next)?.v >= 0 || "rw".includes(this.letter(next))) return;
    setTimeout(() => !this.gone && !this.looking.size && this.fetch(next), 150);
  }

  async thumb(p) {
    const here = this.small.get(p) || this.growing.get(p)?.picture;
    if (here) return here;
    if (this.gone || this.deaf || this.letter(p) === "w") return this.root ? new StoredSource(this.root).thumb(p) : null;
    if (!this.wanted.length) setTimeout(() => this.thumbs(), 30);
    return new Promise((done) => this.wanted.push([p, done]));
  }

  async thumbs() {
    while (this.wanted.length) {
      const some = this.wanted.splice(0, 40);
      try {
        const { thumbs } = await this.question({ kind: "thumbs", ps: some.map(([p]) => p) }).answer;
        for (const [p, done] of some) {
          if (thumbs[p]) this.small.set(p, thumbs[p]);
          // One that has just begun to be read has no picture yet.
          else if (this.letter(p) === "r") setTimeout(() => this.thumb(p).then((url) => this.onthumb(p, url)), 1500);
          done(thumbs[p] || null);
        }
      } catch {
        for (const [, done] of some) done(null);
      }
    }
  }

  // ------------------------------------------------------------ search and selection
  async find(wanted) {
    if (!this.gone) {
      const wait = this.question({ kind: "find", q: wanted });
      if (await wait.taken) {
        try {
          return (await wait.answer).found.pages;
        } catch {
          // then in what is here
        }
      }
    }
    const found = {};
    const here = [...new Set([...this.pages.keys(), ...this.growing.keys()])].sort((a, b) => a - b);
    let since = Date.now();
    for (const p of here) {
      const kept = this.pages.get(p);
      let texts = kept?.searched;
      if (!texts) {
        const node = kept ? pieceOf(kept.html) : this.node(p);
        texts = [...node.querySelectorAll(".uo-pane .uo-row")].flatMap((row) => [...textsOf(bodyOf(row) || row)].map((text) => fold(text.data)));
        if (kept) kept.searched = texts;
      }
      const count = texts.reduce((sum, text) => sum + text.split(wanted).length - 1, 0);
      if (count) found[p] = count;
      if (Date.now() - since > 12) {
        await new Promise((done) => setTimeout(done));
        since = Date.now();
      }
    }
    return found;
  }

  // The text of a block as the engine wrote it, where it is here; null where Python has to be asked.
  textOf(p, n) {
    return this.pages.get(p)?.texts?.[n - 1] ?? null;
  }

  chosenOn(p) {
    return this.chosen[0] === p && this.chosen[1] ? this.chosen[1] : null;
  }

  select(p, n) {
    const chosen = n ? [p, n] : [0, 0];
    const left = this.at;
    this.at = p;
    if (this.gone || String(chosen) === String(this.chosen)) return;
    // A page is turned: what another view has selected elsewhere stays.
    if (!n && this.chosen[0] !== left && this.chosen[0] !== p) return;
    this.chosen = chosen;
    this.send({ kind: "select", p: chosen[0], n: chosen[1] });
  }

  // ------------------------------------------------------------ a page being read
  grow(told) {
    const before = this.growing.get(told.p);
    const picture = told.picture || before?.picture;
    this.growing.set(told.p, { ...told, picture, rows: new Map(), boxes: new Map() });
    for (const [oldest] of this.growing) {
      if (this.growing.size <= 24) break;
      if (oldest !== told.p) this.growing.delete(oldest);
    }
  }

  grown(p) {
    const { html, picture, rows, boxes } = this.growing.get(p);
    const node = pieceOf(html);
    const image = node.querySelector(".uo-image");
    if (image && picture) image.src = picture;
    const pane = node.querySelector(".uo-pane");
    const sheet = node.querySelector(".uo-sheet");
    for (const [parts, place, kind] of [[rows, pane, "uo-row"], [boxes, sheet, "uo-box"]]) {
      for (const [n, drawn] of parts) {
        const old = place.querySelector(`.${kind}.uo-b${n}`);
        if (old) old.replaceWith(pieceOf(drawn));
        else place.append(pieceOf(drawn));
      }
    }
    markWritten(node);
    return node;
  }
}

function markWritten(node) {
  for (const caret of node.querySelectorAll(".uo-caret")) caret.closest(".uo-row")?.classList.add("uo-written");
}

// What a view has that a kernel answers: progress, Stop, pages as they grow, files.
function living(ui) {
  const { source, el, state } = ui;
  if (!(source instanceof ModelSource)) return;
  const { model } = source;
  const style = make("style");
  style.textContent = LIVE_STYLE;
  ui.chrome.prepend(style);
  let follow = true;
  let moving = false; // it turns the page, not the person
  let stopping = false;
  let words = "";
  let drawn = {}; // what the page being read shows: "r5" or "b5" -> its HTML
  let said = 0;
  let running = false;
  ui.still = source.running;

  // ------------------------------------------------------------ the line of progress
  const share = make("i");
  const first = make("b");
  const rest = make("span", { class: "uo-rest" });
  const word = make("span", { class: "uo-word", role: "status" });
  const following = button("Follow", () => setFollow(!follow), { kind: "uo-toggle", title: "Keep the newest page in sight", "aria-pressed": "true" });
  const stopper = button("Stop", stop, { kind: "uo-framed uo-stop", name: null });
  el.progress.classList.add("uo-run");
  el.progress.append(make("span", { class: "uo-share" }, share), first, rest, make("span", { class: "uo-spring" }), following, stopper, word);
  const told = make("div", { class: "uo-told", hidden: true, role: "status" });
  told.style.display = "none";
  el.progress.after(told);

  function progress() {
    const live = model.get("live") || {};
    const on = source.running && !source.gone;
    if (running && !on) ended();
    if (!running && on) {
      tell("");
      stopping = false;
      words = "";
    }
    if (running !== on && !source.gone) {
      const reads = on && !live.again;
      for (const one of WHEN_DONE) source.can[reads ? "delete" : "add"](one);
      if (ui.current.p) {
        ui.header();
        ui.actions();
      }
    }
    running = on;
    if (on) ui.still = true;
    el.progress.hidden = !on;
    el.progress.style.display = on ? "" : "none";
    if (!on) return;
    const [pages, ...others] = live.progress;
    set(first, pages);
    others.forEach((text, i) => set(rest.children[i] || rest.appendChild(make("span")), text));
    while (rest.children.length > others.length) rest.lastChild.remove();
    share.style.width = `${live.share * 100}%`;
    following.style.display = live.again || ui.doc.total < 2 ? "none" : "";
    stopper.disabled = stopping;
    set(stopper.lastChild, stopping ? "Stopping" : live.done && !live.again ? `Stop, keep ${counted(live.done, "page")}` : "Stop");
    set(word, words || live.waiting || "");
    word.style.display = word.textContent ? "" : "none";
    if (Date.now() - said > 5000) {
      said = Date.now();
      ui.say(pages);
    }
  }

  const set = (node, text) => node.textContent !== text && (node.textContent = text);

  function setFollow(on) {
    follow = on;
    following.setAttribute("aria-pressed", String(on));
    if (on) catchUp();
  }

  // What the person does turns it off.
  const leave = () => running && follow && !moving && setFollow(false);

  function tell(text) {
    told.textContent = text || "";
    told.hidden = !text;
    told.style.display = text ? "" : "none";
    if (text) ui.say(text);
  }

  async function stop() {
    stopping = true;
    progress();
    const wait = source.question({ kind: "stop" });
    const again = model.get("live")?.again;
    if (await taken(wait, 700)) {
      // It is heard; a call that does not come back is interrupted.
      if (again || !(await stillRuns(4000))) return;
    }
    const kernel = model.widget_manager?.kernel;
    if (!again && source.running && typeof kernel?.interrupt === "function") {
      try {
        await kernel.interrupt();
        return;
      } catch {
        // then the words
      }
    }
    if (!source.running) return;
    stopping = false;
    words = again ? "Stops when the cell that runs has ended." : "Interrupt the cell; pages that are done are kept.";
    progress();
  }

  const later = (ms) => new Promise((done) => setTimeout(done, ms));
  const taken = async (wait, ms) => (await Promise.race([wait.taken, later(ms)])) === true;

  async function stillRuns(ms) {
    for (let waited = 0; waited < ms && source.running; waited += 100) await later(100);
    return source.running;
  }

  // ------------------------------------------------------------ what comes
  function facts() {
    const doc = source.doc();
    if (!doc?.total || (doc.status === ui.doc?.status && JSON.stringify(doc) === JSON.stringify(ui.doc))) return;
    const before = ui.doc?.status[state.page - 1];
    ui.update(doc);
    ui.recount();
    const now = doc.status[state.page - 1];
    if (!ui.current.p) ui.go(startPage());
    else if (before !== now && !(now === "r" && !source.growing.has(state.page))) {
      if (now !== "r" && before === "r") ui.say(`Page ${state.page} is ${STATUS[now][0]}.`);
      // Done, but not here yet: what has grown stays until the page itself comes.
      if ("rw".includes(now) || source.pages.has(state.page) || !source.deaf) ui.refresh();
      else ui.chips();
    }
  }

  function startPage() {
    const front = model.get("front")?.p;
    return front && source.running ? front : Number(ui.root?.querySelector(":scope > .uo-page[data-p]")?.dataset.p) || 1;
  }

  async function turnTo(p) {
    moving = true;
    try {
      await ui.go(p);
    } finally {
      moving = false;
    }
  }

  function catchUp() {
    const front = model.get("front")?.p;
    if (!follow || !running || !front) return;
    if (front !== state.page) {
      if (!moving && source.letter(front) === "r") turnTo(front);
      return;
    }
    const last = [...ui.current.rows.keys()].pop();
    if (last) ui.reveal(last);
  }

  const showsGrowth = () => ui.current.p === state.page && drawn.p === state.page && source.growing.has(state.page);

  function front() {
    const now = model.get("front");
    if (!now?.p || source.pages.get(now.p)?.v >= 0) return;
    source.grow(now);
    if (now.p === state.page && ui.current.p === now.p) {
      if (drawn.p === now.p) morph(source.grown(now.p));
      else ui.refresh();
    }
    catchUp();
  }

  function grown() {
    const now = model.get("now");
    const page = now?.p && source.growing.get(now.p);
    if (!page || page.key !== now.key) return;
    page.rows = new Map(now.rows);
    page.boxes = new Map(now.boxes);
    if (now.p === state.page && showsGrowth()) {
      for (const [n, html] of now.boxes) putBox(n, html);
      for (const [n, html] of now.rows) putRow(n, html);
      settleParts();
    }
    catchUp();
  }

  function turn() {
    const now = model.get("turn");
    if (!now?.p || source.pages.get(now.p)?.v >= 0) return;
    source.grow(now);
    if (now.p === state.page && ui.current.p === now.p) {
      if (drawn.p === now.p) morph(source.grown(now.p));
      else ui.refresh();
    }
  }

  // Brings the page that is shown to what `node` has, leaving alone what is the same.
  function morph(node) {
    const image = el.mat.querySelector(".uo-image");
    const fresh = node.querySelector(".uo-image");
    if (!image !== !fresh) {
      ui.refresh();
      return;
    }
    for (const box of node.querySelectorAll(".uo-box")) putBox(Number(box.dataset.b), box.outerHTML);
    for (const row of node.querySelectorAll(".uo-pane .uo-row")) putRow(Number(row.dataset.b), row.outerHTML);
    settleParts();
  }

  function putBox(n, html) {
    const sheet = el.mat.querySelector(".uo-sheet");
    if (!sheet || drawn[`b${n}`] === html) return;
    drawn[`b${n}`] = html;
    const made = pieceOf(html);
    const old = ui.current.boxes.get(n);
    ui.dressBox(made);
    if (old) {
      made.style.zIndex = old.style.zIndex;
      made.tabIndex = old.tabIndex;
      if (old.classList.contains("uo-hot")) made.classList.add("uo-hot");
      swap(old, made);
    } else sheet.append(made);
    made.classList.toggle("uo-off", !!ui.current.rows.get(n)?.classList.contains("uo-off"));
  }

  function putRow(n, html) {
    if (drawn[`r${n}`] === html) return;
    drawn[`r${n}`] = html;
    const made = pieceOf(html);
    const old = ui.current.rows.get(n);
    setFormulas(made);
    ui.dressRow(made);
    markWritten(make("div", {}, made));
    if (old) {
      for (const kind of ["uo-sel", "uo-hot", "uo-off"]) if (old.classList.contains(kind)) made.classList.add(kind);
      made.tabIndex = old.tabIndex;
      const at = ui.current.parts.indexOf(old);
      if (at >= 0) ui.current.parts[at] = made;
      swap(old, made);
    } else {
      ui.current.parts.push(made);
      made.classList.toggle("uo-off", state.off.has(made.dataset.k));
      if (shown()) {
        el.text.querySelector(":scope > .uo-none")?.remove();
        el.text.append(made);
      }
      fresh = true;
    }
    other = true;
  }

  let fresh = false; // a row is new
  let other = false; // a row has another text
  const shown = () => state.tab === "markdown" || state.tab === "page";

  function swap(old, made) {
    const held = old.contains(document.activeElement);
    old.replaceWith(made);
    if (held) made.focus({ preventScroll: true });
  }

  function settleParts() {
    if (fresh) ui.chips();
    if (other && !shown()) ui.text();
    if (other && state.query.trim()) ui.marks();
    if (fresh || other) ui.foot();
    fresh = other = false;
  }

  function ended() {
    stopping = false;
    words = "";
    // Better pictures than those that were pushed can be had now.
    if (ui.current.p && !(source.pages.get(state.page)?.v >= 0)) ui.refresh();
  }

  // ------------------------------------------------------------ what the view asks
  const save = (format) => async () => {
    tell("");
    try {
      const { name, blob } = await source.ask("save", { format });
      download(name, blob);
      ui.say(`Saved as ${name}.`);
    } catch (error) {
      tell(error.next ? `${error.message} Next: ${error.next}` : error.message);
    }
  };

  let seen = 0;
  ui.hooks.push({
    page: () => {
      drawn = {};
      if (source.growing.has(state.page) && !source.pages.has(state.page)) {
        drawn.p = state.page;
        markWritten(el.text);
      }
      if (seen === state.page) return;
      seen = state.page;
      if (!source.running) ui.still = false;
      if (!source.gone) tell("");
      leave();
      if (source.running && !source.gone) source.send({ kind: "look", p: state.page });
    },
    selected: (_ui, n) => n && leave(),
    menu: () => {
      if (!source.can.has("save")) return [];
      const bad = [...(ui.doc.status || "")].map((l, i) => ("orw".includes(l) ? 0 : i + 1)).filter(Boolean);
      const again = bad.length && !source.running ? [{ label: bad.length > 1 ? `Run the ${number(bad.length)} again` : "Run 1 page again", work: () => source.ask("rerun", { ps: bad }).catch(() => {}) }] : [];
      const kinds = { md: "Markdown", html: "HTML", json: "JSON", txt: "text" };
      return ["-", ...again, ...Object.entries(kinds).map(([format, kind]) => ({ label: `Save as ${kind}`, work: save(format) }))];
    },
  });
  for (const pane of [el.text, el.mat, el.film]) {
    for (const kind of ["wheel", "touchmove", "pointerdown"]) pane.addEventListener(kind, leave, { passive: true });
  }
  el.query.addEventListener("input", leave);

  source.onthumb = (p, url = source.small.get(p)) => {
    const place = el.reel.querySelector(`[data-t="${p}"] .uo-thumb`);
    if (place && url && place.firstChild?.src !== url) place.replaceChildren(make("img", { alt: "", src: url }));
  };
  source.onpage = (p, isNew) => {
    source.onthumb(p);
    if (isNew && source.running) ui.recount();
    if (isNew && p === state.page && ui.current.p === p) ui.refresh();
  };
  source.onheard = () => {
    if (ui.current.p && !(source.pages.get(state.page)?.v >= 0)) ui.refresh();
  };
  source.ontell = tell;
  source.onlost = () => {
    progress();
    // A view that was closed is what is stored of it, and what was looked at.
    tell(source.gone === CLOSED ? "" : source.gone);
    ui.header();
    ui.actions();
    ui.foot();
  };
  Object.assign(ui, { startPage });
  ui.live = {
    facts: () => {
      facts();
      progress();
      catchUp();
    },
    front,
    grown,
    turn,
    feed: (name) => {
      const page = model.get(name);
      if (page?.p && source.letter(page.p) !== "r") source.keep(page);
    },
    changed: ({ ps }) => {
      source.forget(ps);
      facts();
      ui.recount();
      if (ps.includes(state.page)) ui.refresh();
    },
    selected: ({ p, n }) => {
      source.chosen = n ? [p, n] : [0, 0];
      if (ui.current.p) ui.select(source.chosenOn(state.page), { tell: false });
    },
  };
}
EXTRAS.push(living);

// The chrome leaves the page when the output is drawn anew; what the person was at comes back with it.
function holding(ui) {
  const { chrome } = ui;
  const scrolls = new Map();
  let held = null;
  let marked = null;
  const scrolled = (event) => chrome.isConnected && scrolls.set(event.target, [event.target.scrollLeft, event.target.scrollTop]);
  chrome.addEventListener("scroll", scrolled, true);
  chrome.addEventListener("focusin", (event) => (held = event.target));
  chrome.addEventListener("focusout", () => queueMicrotask(() => chrome.isConnected && !chrome.contains(document.activeElement) && (held = null)));
  const marking = () => {
    const { anchorNode, anchorOffset, focusNode, focusOffset, isCollapsed } = getSelection();
    if (!chrome.isConnected) return;
    marked = !isCollapsed && chrome.contains(anchorNode) && chrome.contains(focusNode) ? [anchorNode, anchorOffset, focusNode, focusOffset] : null;
  };
  document.addEventListener("selectionchange", marking);
  const restore = () => {
    for (const [pane, [left, top]] of scrolls) if (chrome.contains(pane)) pane.scrollTo(left, top);
    const at = document.activeElement;
    const free = !at || at === document.body || at.contains(chrome);
    if (held?.isConnected && chrome.contains(held) && free) held.focus({ preventScroll: true });
    // Text that was marked to be copied.
    if (marked && chrome.contains(marked[0]) && chrome.contains(marked[2]) && getSelection().isCollapsed) getSelection().setBaseAndExtent(...marked);
  };
  return { restore, end: () => document.removeEventListener("selectionchange", marking) };
}

function initialize({ model }) {
  const uid = model.get("uid");
  const source = new ModelSource(model);
  let ui = null;
  let held = null;
  let closed = false;
  window.uocrViews ||= new Map();
  for (const [old, one] of window.uocrViews) if (one.source.gone && !one.root?.isConnected) window.uocrViews.delete(old);

  const roots = () => [...document.querySelectorAll(`.uo-root[data-uid="${CSS.escape(uid)}"]`)];

  function settle() {
    if (closed || (ui?.root?.isConnected && ui.root.contains(ui.chrome))) return;
    const root = roots().pop();
    if (!root) return;
    if (!ui) begin(root);
    else attach(root);
  }

  function begin(root) {
    source.root = root;
    const stored = root.uocr;
    const at = stored && { ...stored.state };
    stored?.destroy();
    ui = mount(root, source);
    held = holding(ui);
    const attached = ui.attach;
    ui.attach = (to) => {
      if (to.uocr && to.uocr !== ui) to.uocr.destroy();
      source.root = to;
      if (!source.doc()?.total) return; // there is nothing to drive, and what is stored says so
      attached(to);
      held.restore();
    };
    window.uocrViews.set(uid, ui);
    ui.attach(root);
    for (const name of FEEDS) ui.live.feed(name);
    ui.live.turn();
    ui.live.front();
    ui.live.grown();
    if (ui.doc?.total && !ui.current.p) ui.go(at?.page || ui.startPage());
    ui.live.facts();
  }

  const attach = (root) => ui.attach(root);

  let due = false;
  function soon() {
    if (due || closed) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      if (closed || !ui) return;
      settle();
      ui.live.facts();
    });
  }

  const watch = new MutationObserver(() => !closed && settle());
  watch.observe(document.body, { childList: true, subtree: true });

  async function meet() {
    // The first message of a kernel's first widget may wait for the end of the cell: so more than one is sent.
    source.question({ kind: "hello" }).answer.then(
      ({ selected }) => selected && ui?.live.selected({ p: selected[0], n: selected[1] }),
      () => {},
    );
    for (let tries = 0; tries < 8 && !source.met && !closed; tries += 1) {
      source.send({ kind: "ping" });
      await new Promise((done) => setTimeout(done, 200));
    }
    if (!source.met) source.deaf = true;
  }

  // While pages are read, the kernel knows by this that it is heard.
  const beat = setInterval(() => !closed && source.running && !source.gone && source.send({ kind: "ping" }), 4000);

  const onMessage = (content, buffers) => {
    if (content?.kind === "changed") ui?.live.changed(content);
    else if (content?.kind === "selected") ui?.live.selected(content);
    else if (content) source.take(content, buffers);
  };
  const events = {
    "msg:custom": onMessage,
    "change:doc": soon,
    "change:status": soon,
    "change:live": soon,
    "change:front": () => ui?.live.front(),
    "change:now": () => ui?.live.grown(),
    "change:turn": () => ui?.live.turn(),
  };
  for (const name of FEEDS) events[`change:${name}`] = () => ui?.live.feed(name);
  for (const [name, work] of Object.entries(events)) model.on(name, work);

  const kernel = model.widget_manager?.kernel;
  const onStatus = (_kernel, status) => {
    if (["dead", "restarting", "autorestarting", "terminating"].includes(status)) source.lose(GONE);
  };
  kernel?.statusChanged?.connect?.(onStatus);
  settle();
  meet();

  return () => {
    closed = true;
    source.lose(CLOSED);
    held?.end();
    clearInterval(beat);
    watch.disconnect();
    kernel?.statusChanged?.disconnect?.(onStatus);
    for (const [name, work] of Object.entries(events)) model.off(name, work);
    if (ui && !ui.root?.isConnected) {
      ui.destroy();
      window.uocrViews.delete(uid);
    }
  };
}

const FEEDS = ["feed0", "feed1", "feed2", "feed3", "feed4", "feed5"];

export default { initialize };
//#end
