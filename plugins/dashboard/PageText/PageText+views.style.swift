// Made by .ci/page from plugins/dashboard/page/views.css: change that file, and run .ci/page again.
// swift-format-ignore-file

extension PageText {
    static let viewsCSS: StaticString = ##"""
/* What only one of the views has. */

/* Keys */

.tree { flex: 1; overflow-y: auto; position: relative; background: var(--card); border-top: 1px solid var(--line); }
.tree-rows { position: relative; }
.main > .empty { padding: 20px 18px; }

.row {
  position: absolute;
  inset: 0 0 auto 0;
  height: 32px;
  display: grid;
  grid-template-columns: 18px calc(min(250px, 26vw) - var(--depth) * 20px) minmax(60px, 1fr) minmax(0, 150px) 58px 52px;
  align-items: center;
  gap: 0 10px;
  padding: 0 18px 0 calc(12px + var(--depth) * 20px);
  cursor: default;
  white-space: nowrap;
}
.row:hover { background: color-mix(in srgb, var(--accent-soft) 45%, transparent); }
.row[aria-selected=true] { background: var(--accent-soft); }
.row > * { overflow: hidden; text-overflow: ellipsis; }

.twist { width: 18px; height: 22px; cursor: pointer; }
.row[aria-expanded] .twist::before { content: ""; display: block; width: 7px; height: 7px; margin: 7px 0 0 4px;
  border: solid var(--faint); border-width: 0 2px 2px 0; transform: rotate(-45deg); transition: transform .12s; }
.row[aria-expanded=true] .twist::before { transform: rotate(45deg); }
.row > .twist { overflow: visible; }
.token { font-weight: 600; }
.row:not(.is-key) .token { color: var(--faint); }
.preview { color: color-mix(in srgb, var(--text) 82%, transparent); font-size: 13px; }
.row:not(.is-key) .preview { color: var(--faint); font: 12px var(--sans); }
.by { font-size: 12.5px; text-align: right; }
.by .client { font-weight: 450; color: var(--faint); }
.by.is-gone .client::before { background: none; box-shadow: inset 0 0 0 1.5px var(--own); }
.changes, .age { text-align: right; color: var(--faint); font-size: 12px; font-variant-numeric: tabular-nums; }

.flash { animation: flash .9s ease-out; }
.flash-again { animation: flash-again .9s ease-out; }
@keyframes flash { from { background: var(--flash); } }
@keyframes flash-again { from { background: var(--flash); } }

.value { font-size: 13px; line-height: 1.5; white-space: pre-wrap; overflow-wrap: anywhere; }
.value-box { max-height: 46vh; overflow: auto; }
.json-name { color: var(--accent); }
.json-string { color: var(--c3); }
.json-number { color: var(--c4); }
.json-word { color: var(--c5); }

.changes-list { list-style: none; padding: 0; }
.changes-list li { padding: 7px 0; }
.changes-list li + li { border-top: 1px solid var(--line); }
.diff { font: 12.5px/1.5 var(--mono); overflow-wrap: anywhere; }
.diff .pointer { color: var(--faint); margin-right: 8px; }
.diff del { color: var(--bad); background: var(--bad-soft); text-decoration: none; border-radius: 4px; padding: 0 4px; margin-right: 6px; }
.diff ins { color: var(--good); background: color-mix(in srgb, var(--good) 13%, transparent); text-decoration: none; border-radius: 4px; padding: 0 4px; }
.diff .same { color: var(--faint); font-family: var(--sans); }

.chain { list-style: none; padding: 0; }
.chain li { position: relative; padding: 0 0 16px 22px; }
.chain li::before { content: ""; position: absolute; left: 3px; top: 5px; width: 9px; height: 9px; border-radius: 50%; background: var(--accent); }
.chain li:not(:last-child)::after { content: ""; position: absolute; left: 7px; top: 18px; bottom: -2px; width: 1.5px; background: var(--line); }
.chain li:last-child { padding-bottom: 0; }
.step-head { display: flex; gap: 8px; align-items: center; }
.step-key { font-weight: 600; overflow-wrap: anywhere; }
.step-foot { display: flex; flex-wrap: wrap; gap: 2px 12px; color: var(--faint); font-size: 12px; font-variant-numeric: tabular-nums; }
.took { color: var(--accent); }

/* Causes */

.timeline-scroll { flex: 1; overflow: auto; position: relative; background: var(--card); border-top: 1px solid var(--line); }
.lane-names { position: sticky; top: 0; height: 38px; z-index: 3; background: var(--card); border-bottom: 1px solid var(--line); }
.lane-names span { position: absolute; bottom: 8px; transform: translateX(-50%); margin-left: 90px; font-weight: 600; font-size: 12px;
  color: var(--own); white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.lane-names.tilted { height: 104px; }
.lane-names.tilted span { transform: rotate(-62deg); transform-origin: left bottom; overflow: visible; bottom: 4px; }
.timeline { position: relative; }
.lanes { position: absolute; left: 90px; top: 0; pointer-events: none; z-index: 2; }
.writes { list-style: none; padding: 0; }
.write {
  display: flex; align-items: center; gap: 12px; width: 100%; height: 44px; text-align: left;
  border: none; border-radius: 0; background: none; padding: 0 18px;
}
.writes li:nth-child(odd) .write { background: color-mix(in srgb, var(--back) 55%, transparent); }
.write:hover { background: color-mix(in srgb, var(--accent-soft) 55%, transparent) !important; }
.chosen > .write { background: var(--accent-soft) !important; }
.write time { width: 60px; flex: none; font-size: 12px; color: var(--faint); font-variant-numeric: tabular-nums; line-height: 1.25; }
.write time small { display: block; font-size: 10.5px; opacity: .8; }
.lane-space { width: var(--lanes); flex: none; }
.write-text { flex: 1 1 120px; min-width: 0; line-height: 1.3; }
.write-key { display: block; font-weight: 600; font-size: 13px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.write-by { display: flex; align-items: center; gap: 6px; font-size: 12px; color: var(--faint); white-space: nowrap; }
.write-by i { width: 7px; height: 7px; border-radius: 50%; background: var(--own); }
.told { flex: 0 1 auto; min-width: 0; overflow: hidden; display: flex; gap: 6px; font-size: 11.5px;
  color: var(--faint); font-variant-numeric: tabular-nums; white-space: nowrap; }
.chip { display: inline-flex; align-items: center; gap: 5px; padding: 2px 8px; border-radius: 99px; background: var(--back); }
.chip b { font-weight: 550; color: var(--text); max-width: 104px; overflow: hidden; text-overflow: ellipsis; }
.chip::before { content: ""; width: 6px; height: 6px; border-radius: 50%; background: var(--own, var(--faint)); }
.chip[data-outcome=queued], .chip[data-outcome=conflated] { background: var(--slow-soft); color: var(--slow); }
.chip[data-outcome=paused] { background: var(--paused-soft); color: var(--paused); }
.chip[data-outcome=dropped] { background: var(--bad-soft); color: var(--bad); }

@container (max-width: 960px) { .told { display: none; } }

.lane { stroke: var(--own); stroke-width: 1.5; opacity: .22; }
.dot circle, .dot path { fill: var(--own); stroke: var(--card); stroke-width: 2.5; }
.dot[data-op=delete] circle { fill: var(--card); stroke: var(--own); }
.tell line { stroke: var(--own); stroke-width: 1.4; opacity: .5; }
.tell path { fill: var(--own); opacity: .75; }
.tell text { font-size: 10px; fill: var(--faint); paint-order: stroke; stroke: var(--card); stroke-width: 3px; }
.echo { fill: none; stroke: var(--own); stroke-width: 1.2; opacity: .5; }
.tell[data-outcome=queued], .tell[data-outcome=conflated] { --own: var(--slow) !important; }
.tell[data-outcome=waiting] line { stroke-dasharray: 2 4; }
.tell[data-outcome=paused] { --own: var(--paused) !important; }
.tell[data-outcome=dropped] { --own: var(--bad) !important; }
.cause-line { fill: none; stroke: var(--own); stroke-width: 3; stroke-linecap: round; opacity: .8; }
.cause-tip { fill: var(--own); }
.cause-loose { stroke: var(--own); stroke-width: 2; stroke-dasharray: 2 3; opacity: .6; fill: none; }
.has-lit .lanes [data-number]:not(.lit) { opacity: .13; }
.has-lit .writes li:not(.lit) { opacity: .42; }
.has-lit .lit .cause-line { stroke-width: 4; opacity: 1; }

.waiting { padding: 60px 24px; text-align: center; color: var(--faint); }
.waiting code { background: var(--back); padding: 3px 8px; border-radius: 6px; color: var(--text); }
.waiting p + p { margin-top: 8px; }

/* Graph */

.graph { flex: 1; overflow: auto; min-height: 0; background: var(--card); border-top: 1px solid var(--line); }
.flow { display: block; }
.column-title { fill: var(--faint); font-size: 12px; font-weight: 600; }
.node { cursor: pointer; outline: none; }
.node rect { fill: color-mix(in srgb, var(--own, var(--faint)) 12%, var(--card)); stroke: var(--own, var(--line)); stroke-width: 1.5; }
.node[data-kind=key] rect { fill: var(--back); stroke: var(--line); }
.node:hover rect, .node:focus-visible rect { stroke-width: 2.5; stroke: var(--accent); }
.node.chosen rect { stroke-width: 3; }
.node-name { fill: var(--text); font-size: 13px; font-weight: 600; }
.node[data-kind=key] .node-name { font-family: var(--mono); font-size: 12px; font-weight: 550; }
.node-extra { fill: var(--faint); font-size: 11.5px; }
.node[data-state=lagging], .node[data-state=waiting], .edge[data-state=lagging] { --own: var(--slow) !important; }
.node[data-state=paused], .edge[data-state=paused] { --own: var(--paused) !important; }
.node[data-state=broken] { --own: var(--bad) !important; }
.node[data-state=lagging] .node-extra, .node[data-state=paused] .node-extra, .node[data-state=broken] .node-extra { fill: var(--own); font-weight: 600; }
.edge-line { fill: none; stroke: var(--own); stroke-width: var(--width); opacity: .55; }
.edge-tip { fill: var(--own); opacity: .85; }
.edge[data-kind=observes] .edge-line { opacity: .45; }
.edge.hears-all .edge-line { opacity: .16; }
.edge.hears-all .edge-tip { opacity: .3; }
.edge[data-state=paused] .edge-line, .edge[data-state=lagging] .edge-line { opacity: .95; stroke-dasharray: 7 5; stroke-width: calc(var(--width) + 1px); }
.edge.flows .edge-line { opacity: .95; }
.edge.flows.hears-all .edge-line { opacity: .3; }
.dim { opacity: .14; }
.check { display: flex; gap: 6px; align-items: center; }
.check input { accent-color: var(--accent); }
.legend { display: flex; gap: 5px 8px; align-items: center; flex-wrap: wrap; color: var(--faint); font-size: 12px; }
.legend i { width: 16px; height: 4px; border-radius: 2px; background: var(--faint); margin-left: 8px; }
.legend i[data-state=lagging] { background: var(--slow); }
.legend i[data-state=paused] { background: var(--paused); }
.legend i[data-state=broken] { background: var(--bad); }
.log { font-size: 12px; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 300px; overflow: auto; }

/* Health */

.view-health { overflow-y: auto; }
.health { max-width: 1180px; width: 100%; margin: 0 auto; padding: 18px; display: flex; flex-direction: column; gap: 16px; }
.summary { color: var(--faint); }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(235px, 1fr)); gap: 14px; }
.figure { font-size: 25px; font-weight: 650; font-variant-numeric: tabular-nums; letter-spacing: -.01em; }

@media (max-width: 720px) {
  .row { grid-template-columns: 14px calc(38vw - var(--depth) * 14px) minmax(40px, 1fr) 40px; padding: 0 10px 0 calc(6px + var(--depth) * 14px); gap: 0 6px; }
  .row .by, .row .changes { display: none; }
  .write { padding: 0 10px; gap: 8px; }
  .write time { display: none; }
  .lanes { left: 10px; }
  .lane-names span { margin-left: 10px; }
  .node-name { font-size: 11.5px; }
  .node[data-kind=key] .node-name { font-size: 10.5px; }
  .health { padding: 12px; }
  .figures { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 10px; }
  .figure { font-size: 20px; }
  .legend { display: none; }
}
"""##
}
