// Made by .ci/page from plugins/dashboard/page/style.css: change that file, and run .ci/page again.
// swift-format-ignore-file

extension PageText {
    static let styleCSS: StaticString = ##"""
/* The page's colours and what all views share. Light and dark come from the browser's wish. */

:root {
  --back: #f4f5f8;
  --card: #ffffff;
  --line: #e0e3ea;
  --text: #1b1f2a;
  --faint: #667085;
  --accent: #3b5bdb;
  --accent-soft: #e3e9ff;
  --good: #2b8a3e;
  --slow: #c77700;
  --slow-soft: #fff0d6;
  --paused: #8a3ffc;
  --paused-soft: #efe3ff;
  --bad: #d92d20;
  --bad-soft: #ffe4e1;
  --flash: #ffe58a;
  --c0: #3b5bdb; --c1: #0c8599; --c2: #d6336c; --c3: #2b8a3e; --c4: #e8590c;
  --c5: #7048e8; --c6: #1098ad; --c7: #a61e4d; --c8: #5c940d; --c9: #846358;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif;
}

@media (prefers-color-scheme: dark) {
  :root {
    --back: #0f1218;
    --card: #171b24;
    --line: #2a303d;
    --text: #e7eaf1;
    --faint: #939cb0;
    --accent: #8ea5ff;
    --accent-soft: #232c4d;
    --good: #69db7c;
    --slow: #ffb84d;
    --slow-soft: #3b2d12;
    --paused: #c49bff;
    --paused-soft: #332351;
    --bad: #ff8577;
    --bad-soft: #45201d;
    --flash: #5b4d14;
    --c0: #8ea5ff; --c1: #4dd4e3; --c2: #ff8fb4; --c3: #7ddf8f; --c4: #ffa36b;
    --c5: #b9a1ff; --c6: #66d9e8; --c7: #f783ac; --c8: #b5dd6a; --c9: #c9a796;
  }
}

* { box-sizing: border-box; }

[hidden] { display: none !important; }

html, body { height: 100%; }

body {
  margin: 0;
  display: flex;
  flex-direction: column;
  background: var(--back);
  color: var(--text);
  font: 14px/1.45 var(--sans);
}

h2, h3, p, ol, dl, pre { margin: 0; }

h3 { font-size: 12px; font-weight: 600; letter-spacing: .02em; color: var(--faint); }

a { color: var(--accent); text-decoration: none; }
a:hover { text-decoration: underline; }

:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }

button, select, input, textarea {
  font: inherit;
  color: inherit;
  background: var(--card);
  border: 1px solid var(--line);
  border-radius: 8px;
  padding: 5px 11px;
}

button { cursor: pointer; }
button:hover { border-color: var(--accent); }
button.primary { background: var(--accent); border-color: var(--accent); color: var(--card); }
button[aria-pressed=true] { background: var(--accent-soft); border-color: var(--accent); }

code, pre, .token, .preview, .key-title, .write-key, .step-key { font-family: var(--mono); }

.bar {
  display: flex;
  align-items: center;
  gap: 14px;
  padding: 0 18px;
  height: 54px;
  flex: none;
  background: var(--card);
  border-bottom: 1px solid var(--line);
}

.brand { display: flex; align-items: center; gap: 9px; font-weight: 650; font-size: 15px; color: var(--text); }
.brand:hover { text-decoration: none; }
.mark { width: 24px; height: 24px; border-radius: 7px; background: url(/icon.svg) center / cover; }

.bar nav { display: flex; gap: 2px; margin-left: 10px; }
.bar nav a { padding: 6px 12px; border-radius: 8px; color: var(--faint); font-weight: 550; }
.bar nav a:hover { background: var(--back); text-decoration: none; }
.bar nav a[aria-current] { background: var(--accent-soft); color: var(--accent); }

.bar-space { flex: 1; }
.rate { color: var(--faint); font-variant-numeric: tabular-nums; white-space: nowrap; }

.state { display: inline-flex; align-items: center; gap: 7px; font-weight: 550; white-space: nowrap; }
.state::before { content: ""; width: 9px; height: 9px; border-radius: 50%; background: var(--faint); }
.state[data-state=live]::before { background: var(--good); box-shadow: 0 0 0 3px color-mix(in srgb, var(--good) 22%, transparent); }
.state[data-state=gone]::before, .state[data-state=ended]::before,
.state[data-state=forbidden]::before { background: var(--bad); }

.notice { padding: 9px 18px; background: var(--bad-soft); color: var(--bad); font-weight: 550; flex: none; }

main { flex: 1; min-height: 0; display: flex; outline: none; }
.main { flex: 1; min-width: 0; display: flex; flex-direction: column; container-type: inline-size; }

.tools { display: flex; align-items: center; gap: 12px; padding: 12px 18px; flex: none; flex-wrap: wrap; }
.tools input[type=search] { flex: 1 1 220px; max-width: 460px; min-width: 0; padding: 7px 12px; }
.total { color: var(--faint); font-variant-numeric: tabular-nums; }

.empty { color: var(--faint); padding: 6px 0; }
.empty.good { color: var(--good); }

.side {
  display: none;
  width: min(460px, 42vw);
  flex: none;
  overflow-y: auto;
  padding: 14px 18px 28px;
  background: var(--card);
  border-left: 1px solid var(--line);
}
.has-detail .side { display: flex; flex-direction: column; gap: 14px; }
.side-head { display: flex; align-items: center; gap: 8px; }
.side-head h2 { flex: 1; font-size: 16px; overflow-wrap: anywhere; }
.close { border: none; background: none; font-size: 20px; line-height: 1; padding: 4px 8px; color: var(--faint); }

.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 12px 14px; min-width: 0; }
.card-head { display: flex; justify-content: space-between; align-items: center; gap: 8px; }
.card h3 { margin-bottom: 6px; }
.card select { padding: 2px 6px; max-width: 60%; font-size: 12px; }

.meta { display: flex; flex-wrap: wrap; gap: 4px 12px; color: var(--faint); align-items: center; }
.is-gone { opacity: .55; }

.client { display: inline-flex; align-items: center; gap: 6px; color: var(--text); font-weight: 550; min-width: 0; }
.client::before { content: ""; flex: none; width: 8px; height: 8px; border-radius: 50%; background: var(--own); }

.mark-state, .mark-outcome, .op {
  font-size: 11px; font-weight: 600; padding: 1px 8px; border-radius: 99px;
  background: var(--back); color: var(--faint); white-space: nowrap;
}
.mark-state[data-state=live], .mark-state[data-state=running], .mark-outcome[data-outcome=sent] { color: var(--good); }
.mark-state[data-state=lagging], .mark-state[data-state=waiting], .mark-outcome[data-outcome=queued],
.mark-outcome[data-outcome=conflated] { background: var(--slow-soft); color: var(--slow); }
.mark-state[data-state=paused], .mark-outcome[data-outcome=paused] { background: var(--paused-soft); color: var(--paused); }
.mark-state[data-state=broken], .mark-outcome[data-outcome=dropped] { background: var(--bad-soft); color: var(--bad); }
.op[data-op=emit] { background: var(--accent-soft); color: var(--accent); }
.op[data-op=delete] { background: var(--bad-soft); color: var(--bad); }

.observer { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 10px; padding: 6px 0; }
.observer + .observer { border-top: 1px solid var(--line); }
.observer .pattern { color: var(--faint); font-family: var(--mono); font-size: 12px; flex: 1; }
.observer .took { margin-left: auto; font-variant-numeric: tabular-nums; color: var(--faint); }
.observer .owed { color: var(--slow); }
.observer button { padding: 1px 9px; font-size: 12px; }

table { width: 100%; border-collapse: collapse; }
th { text-align: left; font-size: 11px; color: var(--faint); font-weight: 600; padding: 3px 10px 5px 0; }
td { padding: 5px 10px 5px 0; border-top: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }

dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 14px; }
dt { color: var(--faint); }
dd { margin: 0; overflow-wrap: anywhere; }

.plot-box { position: relative; margin-top: 4px; }
.plot { display: block; width: 100%; height: 56px; }
.plot-line { fill: none; stroke: var(--accent); stroke-width: 1.8; vector-effect: non-scaling-stroke; }
.plot-area { fill: var(--accent); opacity: .1; }
.plot-top, .plot-bottom { position: absolute; right: 0; font-size: 10.5px; color: var(--faint);
  background: color-mix(in srgb, var(--card) 75%, transparent); padding: 0 3px; border-radius: 3px; }
.plot-top { top: -2px; }
.plot-bottom { bottom: -2px; }

.write-form { width: min(560px, 94vw); border: 1px solid var(--line); border-radius: 14px; padding: 18px;
  background: var(--card); color: var(--text); }
.write-form::backdrop { background: rgb(10 14 24 / .45); }
.write-form form { display: flex; flex-direction: column; gap: 12px; }
.write-form textarea, .write-form input { width: 100%; font-family: var(--mono); }
.write-line { display: flex; gap: 10px; }
.complaint { color: var(--bad); }
.complaint pre { background: var(--back); color: var(--text); padding: 8px 10px; border-radius: 8px; overflow-x: auto; }
.done { color: var(--good); font-weight: 600; }

@media (max-width: 720px) {
  .bar { padding: 0 10px; gap: 8px; height: 50px; }
  .brand { font-size: 0; gap: 0; }
  .bar nav { margin-left: 0; gap: 0; }
  .bar nav a { padding: 6px 9px; }
  .rate { display: none; }
  .state { font-size: 12px; }
  #write { padding: 5px 8px; font-size: 13px; }
  .tools { padding: 10px; gap: 8px; }
  .has-detail > .main { display: none; }
  .has-detail .side { width: 100%; border-left: none; padding: 12px 12px 28px; }
}

@media (max-width: 480px) {
  .bar { gap: 4px; }
  .bar nav a { padding: 6px 7px; font-size: 13.5px; }
  #write:not([hidden]) ~ .state { font-size: 0; gap: 0; }
}

@media (prefers-reduced-motion: reduce) {
  * { animation: none !important; transition: none !important; }
}
"""##
}
