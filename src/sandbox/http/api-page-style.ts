import { createHash } from 'node:crypto';

/** The style of the API page, in light and dark, from a phone's width up. */
export const pageStyle = `
:root { color-scheme: light dark; --ink: light-dark(#1c2430, #e4e8ee); --soft: light-dark(#566070, #9aa5b4);
  --paper: light-dark(#fbfaf7, #14181e); --card: light-dark(#fff, #1b2129); --line: light-dark(#e2ded5, #2d3540);
  --accent: light-dark(#0b5d66, #6ed0d8); --code: light-dark(#f3f0e9, #10141a); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; }
header, main, nav ul { max-width: 60rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-block: 2.5rem 1rem; }
h1 { margin: 0 0 .5rem; font-size: 1.9rem; letter-spacing: -.02em; line-height: 1.2; }
h2 { margin: 2.5rem 0 .75rem; font-size: 1.25rem; text-transform: capitalize; }
p { margin: .4rem 0; }
a { color: var(--accent); }
code, pre { font: .88rem/1.5 ui-monospace, monospace; }
nav { position: sticky; top: 0; background: var(--paper); border-bottom: 1px solid var(--line); z-index: 1; }
nav ul { display: flex; gap: 1.25rem; overflow-x: auto; list-style: none; padding-block: .6rem; }
nav a { text-transform: capitalize; text-decoration: none; font-weight: 600; }
section { scroll-margin-top: 3rem; }
details { margin: .5rem 0; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; }
summary { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: baseline; padding: .7rem 1rem; cursor: pointer; }
summary code { overflow-wrap: anywhere; }
summary span { color: var(--soft); flex-basis: 100%; }
.method { min-width: 4.2rem; font-weight: 700; color: var(--accent); }
.body { padding: 0 1rem 1rem; border-top: 1px solid var(--line); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: .9rem 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; }
caption { text-align: left; font-weight: 600; }
th, td { text-align: left; padding: .3rem 1rem .3rem 0; border-bottom: 1px solid var(--line); font-weight: 400; vertical-align: top; }
thead th { color: var(--soft); }
pre { margin: .75rem 0 0; padding: .8rem 1rem; background: var(--code); border-radius: .4rem; overflow-x: auto; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: .5rem; z-index: 2; background: var(--card); padding: .5rem 1rem; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`;

const styleHash = createHash('sha256').update(pageStyle).digest('base64');

/** Allows this one style and nothing else: no script, no request, no frame. */
export const pagePolicy = `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
