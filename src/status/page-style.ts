/** The style of the status page: light and dark, from a phone's width up. */
export const pageStyle = `
:root { color-scheme: light dark; --ink: light-dark(#18212d, #e7ebf0); --soft: light-dark(#4d5968, #a5b0be);
  --paper: light-dark(#f6f5f1, #11151a); --card: light-dark(#fff, #191f27); --line: light-dark(#dbd7cd, #313a46);
  --accent: light-dark(#0b5563, #74cfda);
  --well: light-dark(#17663c, #7ed7a3); --well-paper: light-dark(#e3f2e8, #11281c);
  --new: light-dark(#235488, #93c0f5); --new-paper: light-dark(#e5eef9, #14233a);
  --attention: light-dark(#7f4700, #f4bf6d); --attention-paper: light-dark(#fcefd8, #2d2210);
  --broken: light-dark(#a01f0c, #ff9f8d); --broken-paper: light-dark(#fce8e3, #361914);
  --bar: light-dark(#e6e3da, #2a323c); }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif; font-variant-numeric: tabular-nums; }
.wide { max-width: 68rem; margin: 0 auto; padding-inline: 1.5rem; }
h1, h2, h3, p, ul, dl, dd, figure { margin: 0; }
ul { padding: 0; list-style: none; }
h2, h3 { line-height: 1.25; letter-spacing: -.01em; text-wrap: balance; }
a { color: var(--accent); text-underline-offset: .15em; }
code { font: .875em/1.4 ui-monospace, 'Cascadia Mono', 'DejaVu Sans Mono', monospace; overflow-wrap: anywhere; }
.word { white-space: nowrap; }
.soft { color: var(--soft); }
svg { display: block; }
.cut { stroke: var(--card); }
.icon { flex: none; width: 1.15em; height: 1.15em; }
.t-well { color: var(--well); } .t-new { color: var(--new); }
.t-attention { color: var(--attention); } .t-broken { color: var(--broken); } .t-plain { color: var(--soft); }

.top { border-bottom: 1px solid var(--line); }
.top.p-well { background: var(--well-paper); } .top.p-new { background: var(--new-paper); }
.top.p-attention { background: var(--attention-paper); } .top.p-broken { background: var(--broken-paper); }
.brand { display: flex; flex-wrap: wrap; justify-content: space-between; gap: .2rem 1.5rem; padding-top: 1rem; font-size: .92rem; }
.brand b { letter-spacing: -.01em; }
.answer { display: flex; align-items: center; gap: 1.1rem; padding: 1.6rem 0 .5rem; }
.answer .icon { width: 3.6rem; height: 3.6rem; }
h1 { font-size: clamp(1.6rem, 1.1rem + 2.6vw, 2.6rem); line-height: 1.1; letter-spacing: -.03em; text-wrap: balance; }
.lead { padding-bottom: 1.7rem; font-size: 1.06rem; color: var(--soft); text-wrap: pretty; }
.lead .place { display: block; font-size: .9rem; overflow-wrap: anywhere; }
.lead b { color: var(--ink); font-weight: 600; }
.live { display: inline-flex; align-items: center; gap: .45em; }
.live::before { content: ''; width: .55em; height: .55em; border-radius: 50%; border: 2px solid var(--soft); }
[data-live='on'] .live::before { background: var(--well); border-color: var(--well); }
[data-live='cut'] .live { color: var(--broken); font-weight: 600; }
[data-live='cut'] .live::before { border-color: var(--broken); }
[data-live='cut'] .answer, [data-live='cut'] .lead, [data-live='cut'] main { filter: grayscale(1); opacity: .7; }

.todo { display: grid; gap: .7rem; padding-bottom: 1.8rem; }
.todo:not(:has(li)) { padding: 0; }
.todo li { display: flex; gap: .8rem; padding: .85rem 1.1rem; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; }
.todo .icon { width: 1.5rem; height: 1.5rem; }
.todo p { max-width: 52rem; text-wrap: pretty; }
.todo p + p { margin-top: .2rem; }
.todo h2 { font-size: 1.05rem; }
.todo .of { display: inline-block; margin-right: .4rem; overflow-wrap: anywhere; font-weight: 400; color: var(--soft); }

main { padding-block: 1.6rem 1rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr)); gap: .9rem; }
.card { padding: 1rem 1.15rem 1.1rem; background: var(--card); border: 1px solid var(--line); border-radius: .7rem; min-width: 0; }
.card .name { display: flex; justify-content: space-between; align-items: baseline; gap: .8rem; font-weight: 600; }
[hidden] { display: none !important; }
.find { display: flex; flex-wrap: wrap; align-items: baseline; gap: .3rem .8rem; margin-bottom: 1rem; }
.find input { flex: 0 1 22rem; min-width: 0; padding: .45rem .7rem; font: inherit; color: inherit; background: var(--card);
  border: 1px solid var(--soft); border-radius: .4rem; }
.names { columns: 14rem; margin-top: .6rem; padding-left: 0; list-style: none; }
a.card { color: inherit; text-decoration: none; display: flex; gap: .8rem; align-items: center; }
a.card:hover { border-color: var(--accent); }
.project-card { display: grid; min-width: 0; overflow-wrap: anywhere; }
a.card .icon { width: 1.8rem; height: 1.8rem; }
.part { margin-top: 2.1rem; }
.part > h2 { margin-bottom: .7rem; font-size: 1.22rem; }
.fold > summary { display: flex; flex-wrap: wrap; align-items: baseline; gap: .1rem .8rem; cursor: pointer; list-style: none; }
.fold > summary::-webkit-details-marker { display: none; }
.fold > summary::before { content: '▸'; color: var(--soft); }
.fold[open] > summary::before { content: '▾'; }
.fold h2 { font-size: 1.22rem; }
.fold[open] > summary { margin-bottom: .7rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 0 1.6rem; align-items: start; }
.pair > .part { min-width: 0; }

.badge { display: inline-flex; align-items: baseline; gap: .35em; font-size: .92rem; font-weight: 600; white-space: nowrap; }
.badge .icon { transform: translateY(.2em); }
.big { font-size: 1.85rem; font-weight: 600; line-height: 1.2; letter-spacing: -.03em; margin-top: .35rem; }
.big small { font-size: .95rem; font-weight: 400; letter-spacing: 0; color: var(--soft); }
.meter { width: 100%; height: .5rem; margin: .55rem 0 .3rem; border-radius: .25rem; }
.meter .rest, .timeline .rest { fill: var(--bar); }
.f-well { fill: var(--well); } .f-new { fill: var(--new); } .f-attention { fill: var(--attention); }
.f-broken { fill: var(--broken); } .f-plain { fill: var(--soft); }
.small { font-size: .9rem; color: var(--soft); }
.line { display: block; }
.small b { color: var(--ink); font-weight: 600; }

.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: .9rem 1.4rem; }
.figures div { min-width: 0; }
.figures dt { font-size: .9rem; color: var(--soft); }
.figures dd { font-size: 1.35rem; font-weight: 600; line-height: 1.25; letter-spacing: -.02em; overflow-wrap: anywhere; }

.timeline { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .3rem .9rem; align-items: center; }
.timeline .lane { font-size: .92rem; }
.timeline svg { width: 100%; height: 1.5rem; }
.hours { grid-column: 2; display: flex; justify-content: space-between; font-size: .82rem; color: var(--soft); }
.hours span { width: 0; white-space: nowrap; display: flex; justify-content: center; }
.hours span:first-child { justify-content: flex-start; } .hours span:last-child { justify-content: flex-end; }
.tick { stroke: var(--card); stroke-width: 1; vector-effect: non-scaling-stroke; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; margin-top: .7rem; font-size: .88rem; color: var(--soft); }
.legend li { display: flex; align-items: center; gap: .4rem; }
.legend svg { width: .9rem; height: 1.1rem; }

.limits { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .3rem 1.4rem; }
.held { margin-top: .6rem; }
.root { margin-top: .8rem; }

.rows { border: 1px solid var(--line); border-radius: .7rem; background: var(--card); overflow: clip; }
.rows > * + * { border-top: 1px solid var(--line); }
.cards + .rows { margin-top: .9rem; }
.row { display: grid; grid-template-columns: minmax(0, 11rem) minmax(0, 1fr) max-content; gap: .1rem 1.1rem; align-items: baseline; padding: .6rem 1.1rem; }
.row > :last-child { text-align: right; }
.requests .row { grid-template-columns: 5.5rem minmax(0, 1fr) 11rem; }
summary.row { cursor: pointer; list-style: none; }
summary.row::-webkit-details-marker { display: none; }
summary.row > :last-child::after { content: '▸'; display: inline-block; margin-left: .6rem; color: var(--soft); }
[open] > summary.row > :last-child::after { transform: rotate(90deg); }
summary.row:hover { background: color-mix(in srgb, var(--accent) 7%, transparent); }
.inside { padding: .2rem 1.1rem 1.1rem; display: grid; gap: .8rem; }
.inside p { max-width: 46rem; text-wrap: pretty; }
.foot { padding: .6rem 1.1rem; }
.more { margin-top: .8rem; }
.more > summary { cursor: pointer; color: var(--accent); width: fit-content; }

.table { overflow-x: auto; margin-top: .6rem; background: var(--card); border: 1px solid var(--line); border-radius: .7rem; }
table { border-collapse: collapse; width: 100%; font-size: .94rem; }
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
th, td { text-align: left; vertical-align: baseline; padding: .5rem 1.1rem; font-weight: 400; white-space: nowrap; }
tr + tr > *, thead + tbody > tr > * { border-top: 1px solid var(--line); }
thead th { color: var(--soft); font-size: .88rem; }
tbody th { font-weight: 600; }
.number { text-align: right; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: .6rem; z-index: 1; background: var(--card); padding: .5rem 1rem; border-radius: .4rem; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: .2rem; }
footer { padding-block: 1.6rem 3rem; color: var(--soft); font-size: .9rem; }
@media (max-width: 40rem) {
  .wide { padding-inline: 1rem; }
  .answer { gap: .8rem; padding-top: 1.2rem; }
  .answer .icon { width: 2.7rem; height: 2.7rem; }
  .lead { padding-bottom: 1.3rem; }
  .row { padding: .6rem .9rem; }
  .row, .requests .row { grid-template-columns: minmax(0, 1fr) max-content; }
  .row > :nth-child(2) { grid-row: 2; grid-column: 1 / -1; }
  .requests .row > :last-child { width: 9.5rem; }
  .hours .odd { display: none; }
  table, tbody, tr, tbody th, td { display: block; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tr { padding: .45rem .9rem; }
  tr > th, tr > td { padding: .1rem 0; border: 0; white-space: normal; text-align: left; overflow-wrap: anywhere; }
  tbody > tr + tr { border-top: 1px solid var(--line); }
  tr > .number { text-align: left; }
  td:empty { display: none; }
  td::before { content: attr(data-label) ': '; color: var(--soft); }
}
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
`;
