/**
 * Keeps an open page up to date: it asks every two seconds for a page that shows something else, or whose ages have grown.
 * Open details stay open unless their part has become well or ill, and the focus stays where it was. A page that has lost its connection says so,
 * because it must not go on to say that all is well. Of many projects, it shows those whose words a person has typed.
 */
export const pageScript = `
(() => {
  const root = document.documentElement;
  let isBusy = false;
  let shown = '';
  const say = (state, text) => {
    root.dataset.live = state;
    const live = document.getElementById('live');
    if (live && live.textContent !== text) live.textContent = text;
  };
  const cut = () => say('cut', 'not up to date: no connection since ' + (root.dataset.at || '').slice(11, 19) + ' UTC');
  const find = () => {
    const field = document.getElementById('find');
    if (!field) return;
    field.parentElement.hidden = false;
    const words = field.value.toLowerCase().split(' ').filter((word) => word !== '');
    const all = Array.from(document.querySelectorAll('#projects li'));
    for (const one of all) one.hidden = !words.every((word) => one.textContent.toLowerCase().includes(word));
    const rest = document.getElementById('rest');
    if (rest && words.length > 0) rest.open = true;
    const text = words.length === 0 ? '' : all.filter((one) => !one.hidden).length + ' of ' + all.length;
    const found = document.getElementById('found');
    if (found.textContent !== text) found.textContent = text;
  };
  const replace = (now, next) => {
    const focused = document.activeElement && document.activeElement.id;
    for (const details of next.querySelectorAll('details[id]')) {
      const before = document.getElementById(details.id);
      if (before && before.dataset.as === details.dataset.as) details.open = before.open;
    }
    now.replaceWith(next);
    const again = focused && document.getElementById(focused);
    if (again && again !== document.activeElement) again.focus({ preventScroll: true });
  };
  const show = (text) => {
    const next = new DOMParser().parseFromString(text, 'text/html');
    const names = (page) => Array.from(page.querySelectorAll('[data-part]'), (part) => part.id).join();
    if (names(document) !== names(next)) replace(document.getElementById('content'), next.getElementById('content'));
    for (const part of next.querySelectorAll('[data-part]')) {
      const now = document.getElementById(part.id);
      if (now && !now.isEqualNode(part)) replace(now, part);
    }
    find();
    const verdict = document.getElementById('verdict');
    if (verdict.textContent.trim() !== next.getElementById('verdict').textContent.trim())
      verdict.textContent = next.getElementById('verdict').textContent;
    document.title = next.title;
    document.querySelector('link[rel=icon]').href = next.querySelector('link[rel=icon]').getAttribute('href');
    document.getElementById('top').className = next.getElementById('top').className;
    root.dataset.at = next.documentElement.dataset.at;
  };
  const refresh = async () => {
    if (isBusy) return;
    isBusy = true;
    try {
      const headers = { 'If-None-Match': shown };
      const answer = await fetch(location.pathname, { cache: 'no-store', headers, signal: AbortSignal.timeout(15000) });
      if (answer.status !== 304) {
        if (!answer.ok) throw new Error(String(answer.status));
        show(await answer.text());
        shown = answer.headers.get('ETag');
      }
      say('on', 'live, ' + root.dataset.at.slice(11, 19) + ' UTC');
    } catch {
      cut();
    } finally {
      isBusy = false;
    }
  };
  find();
  document.getElementById('find')?.addEventListener('input', find);
  refresh();
  setInterval(refresh, 2000);
  addEventListener('visibilitychange', () => document.hidden || refresh());
})();
`;
