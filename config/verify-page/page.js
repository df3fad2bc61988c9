// The page. A verdict is only ever shown of the last choice.

import { verdictWords } from '../../docs/verifier/verdict-words.mjs';
import { startWorker } from './judge.js';

const keptOptions = { 'public-key': 'public key', policy: 'policy' };
const ledgerOptions = { checkpoint: 'checkpoint', receipt: 'receipt' };

/** What the command is given: its arguments, the files by path, and what was given besides. */
function taskOf({ name, files, isFolder }, filesIn) {
  const task = { args: [`checked/${name}`], files: new Map(), given: [] };
  for (const [path, file] of files) task.files.set(`checked/${path}`, file);
  const add = (option, word, file, path) => {
    task.files.set(path, file);
    task.args.push(option, path);
    task.given.push({ option, word, name: file.name });
  };
  for (const [id, word] of Object.entries(isFolder ? { ...keptOptions, ...ledgerOptions } : keptOptions))
    for (const file of filesIn(id)) add(`--${id}`, word, file, `kept/${id}/${file.name}`);
  if (isFolder)
    for (const file of filesIn('certificates')) add('--certificate', 'certificate', file, `certificates/${file.name}`);
  return task;
}

/** What was given besides, with its SHA-256; those of a task end with these. */
const givenText = (digests) => (file, at, given) =>
  `${file.word} ${file.name}, SHA-256 ${digests[digests.length - given.length + at]}`;

/** The command that says the same, to be typed: no name in it is a command or an option of its own. */
function commandText(name, given) {
  const quoted = (text) => {
    const safe = plain(text.startsWith('-') ? `./${text}` : text);
    return /^[\w./-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", String.raw`'\''`)}'`;
  };
  const options = given.flatMap((file) => [file.option, quoted(file.name)]);
  return ['node verify.mjs', quoted(name), ...options].join(' ');
}

/** The files of a folder that was dropped, with their paths. Chromium gives a handle; it refuses entries to a page from a disk. */
async function filesInHandle(handle, path) {
  if (handle.kind === 'file') return [[path, await handle.getFile()]];
  const files = [];
  for await (const [name, inside] of handle.entries())
    for (const file of await filesInHandle(inside, `${path}/${name}`)) files.push(file);
  return files;
}

async function filesInEntry(entry, path) {
  if (entry.isFile) return [[path, await new Promise((found, failed) => entry.file(found, failed))]];
  const reader = entry.createReader();
  const more = () => new Promise((found, failed) => reader.readEntries(found, failed));
  const files = [];
  for (let batch = await more(); batch.length > 0; batch = await more())
    for (const inside of batch)
      for (const file of await filesInEntry(inside, `${path}/${inside.name}`)) files.push(file);
  return files;
}

/** A text without characters that would show it otherwise than it is. */
const plain = (text) => text.replace(/\p{C}/gu, '\uFFFD');
const minuteOf = (time) => `${time.slice(0, 16).replace('T', ' ')} UTC`;

const notTold = {
  all: 'That everything was recorded: no file shows what was left out of it.',
  dates: 'When it was recorded: without a policy, the dates are the word of whoever signed.',
  later:
    'What was recorded later, or left out of this file: only the ledger shows it. Ask for it, or for a certificate of today.',
  words: 'The words of a certificate’s own page: they can have been changed. What is proved stands here.',
};

function startPage(source) {
  const find = (id) => document.getElementById(id);
  const form = document.querySelector('form');
  let worker;
  let turn = 0;
  let chosen;

  const make = (name, text) => {
    const element = document.createElement(name);
    element.textContent = name === 'pre' ? text : plain(text);
    return element;
  };
  const say = (kind, title, text = '') => {
    find('said').className = kind;
    find('said').replaceChildren(make('b', title), plain(text));
    document.title = kind === '' ? 'Verifier' : `${title} – ${plain(chosen?.name ?? 'nothing checked')}`;
  };
  /** A part of the verdict: a heading and a list of texts, where there are any. */
  const list = (heading, texts) => {
    if (texts.length === 0) return;
    const items = document.createElement('ul');
    items.append(...texts.map((text) => make('li', text)));
    find('details').append(make('h2', heading), items);
  };
  const facts = (pairs) => {
    const shown = document.createElement('dl');
    for (const [name, text] of pairs) shown.append(make('dt', name), make('dd', text));
    find('details').append(shown);
  };

  /** Takes the last verdict away, and ends what is under way. */
  function clear() {
    turn += 1;
    worker?.terminate();
    worker = undefined;
    find('details').replaceChildren();
    find('print').hidden = true;
    say('', 'Nothing is checked yet.');
    return turn;
  }

  function refuse(reason) {
    clear();
    say('bad', 'NOT OK', `It could not be checked: ${reason}.`);
  }

  /** Whether a turn is over: something else was chosen since. */
  const isOver = (own) => own !== turn;

  function check() {
    const own = clear();
    find('of-ledger').disabled = chosen !== undefined && !chosen.isFolder;
    if (!chosen) return;
    const { name, files, isFolder } = chosen;
    if (isFolder && !files.some(([path]) => path === `${name}/entries.jsonl`))
      return refuse(`the folder ${name} has no entries.jsonl, so it is no ledger’s folder. That one is named ledger`);
    say('', `Checking ${name} …`);
    const task = taskOf(chosen, (id) => find(id).files);
    try {
      worker = new Worker(source);
      worker.addEventListener('message', ({ data }) => {
        if (isOver(own)) return;
        if (data.read === undefined) show(task, data);
        else say('', `Checking ${name} …`, `Reading ${data.read.reading}: ${Math.floor(data.read.share * 10) * 10} %`);
      });
      worker.addEventListener('error', ({ message }) => {
        if (!isOver(own)) refuse(message || 'the browser ended the check');
      });
      worker.postMessage({ args: task.args, files: task.files });
    } catch (error) {
      refuse(error.message);
    }
  }

  function show({ given }, { code, reason, lines, problems, digests }) {
    const { name, files, isFolder } = chosen;
    clear();
    if (code !== 0 && code !== 1 && code !== 3) return refuse(reason ?? lines.join(' '));
    const found = (kind) => lines.flatMap((line) => (line.startsWith(`${kind}: `) ? [sentenceIn(line)] : []));
    if (code === 0) say('ok', 'OK', 'Nothing is wrong, also by what you have from elsewhere.');
    if (code === 3)
      say(
        'partly',
        'OK as far as it goes',
        'Nothing is wrong in itself. Nothing was given that was kept elsewhere, so whoever made it can have made all of it.',
      );
    if (code === 1)
      say(
        'bad',
        'NOT OK',
        `${problems} ${problems === 1 ? 'thing is' : 'things are'} wrong. It does not prove what it says.`,
      );
    const size = files.reduce((sum, [, file]) => sum + file.size, 0).toLocaleString('en');
    facts([
      ['Checked', isFolder ? `${name}, a folder of ${files.length} files, ${size} bytes` : `${name}, ${size} bytes`],
      ...(isFolder ? [] : [['Its SHA-256', digests[0]]]),
      ['It holds', lines.slice(0, isFolder ? 2 : 1).join('; ')],
      ['Held against', given.length === 0 ? 'nothing from elsewhere' : given.map(givenText(digests)).join('; ')],
      ['When', `${minuteOf(new Date().toISOString())}, by the clock of this computer`],
      ['The same check', commandText(name, given)],
    ]);
    list('What is wrong', found('problem'));
    const others = lines.filter((line) =>
      /^(?:later entries |\d+ certificates |certificate certificates\/)/.test(line),
    );
    list('What to know', [...found('note'), ...others]);
    const words = lines.findIndex((line) => line.startsWith('in words (version '));
    if (words !== -1) showCertificate(lines.slice(0, words), lines.slice(words + 1, -1), code === 1);
    const hasPolicy = given.some(({ option }) => option === '--policy');
    const limits = [notTold.all, ...(hasPolicy ? [] : [notTold.dates]), ...(isFolder ? [] : [notTold.later])];
    list('What this does not show', words === -1 ? limits : [...limits, notTold.words]);
    const printed = document.createElement('details');
    printed.append(make('summary', 'As verify.mjs prints it'), make('pre', lines.join('\n')));
    find('details').append(printed);
    find('print').hidden = false;
    find('said').scrollIntoView({ block: 'nearest' });
  }

  /** What a certificate holds that is proved, or was, of the lines with its fields and those in words. */
  function showCertificate(fieldLines, words, isSuperseded) {
    find('details').append(
      make(
        'h2',
        isSuperseded ? 'What the certificate said, until the ledger said otherwise' : 'What the certificate says',
      ),
    );
    const valueOf = (field) =>
      fieldLines.find((line) => line.startsWith(`${field}: `))?.slice(field.length + 2) ?? 'not told';
    const { name, contact } = JSON.parse(valueOf('stated')).controller ?? {};
    facts([
      ['Request', valueOf('request')],
      ['Controller', name === undefined ? 'not stated' : [name, contact ?? 'no contact'].join(', ')],
      ['Received', minuteOf(valueOf('received_at'))],
      ['Ended', `${minuteOf(valueOf('ended_at'))}; it was due by ${minuteOf(valueOf('due_at'))}`],
    ]);
    const isLimit = (line) => line.startsWith('not proven');
    list(
      'In words',
      words.filter((line) => !isLimit(line)),
    );
    list(
      'What it does not prove',
      words.filter(isLimit).map((line) => line.replace(/^not proven(?:: |, )/, '')),
    );
  }

  /** A line of verify.mjs about a problem or a note, with the sentence of its code. */
  function sentenceIn(line) {
    const found = /^\w+: (.*): (\w+)$/.exec(line);
    if (!found) return line;
    const [, where, code] = found;
    return `${where}: ${verdictWords(code).replaceAll('`', '')} (${code})`;
  }

  form.addEventListener('change', ({ target }) => {
    const [first] = target.files;
    if (target.id === 'file' || target.id === 'folder') {
      find(target.id === 'file' ? 'folder' : 'file').value = '';
      const isFolder = target.id === 'folder';
      const files = [...target.files].map((file) => [isFolder ? file.webkitRelativePath : file.name, file]);
      chosen = first && { name: isFolder ? files[0][0].split('/')[0] : first.name, files, isFolder };
    }
    check();
  });
  form.addEventListener('reset', () => {
    chosen = undefined;
    check();
  });
  find('print').addEventListener('click', () => print());

  const isField = ({ target }) => target instanceof HTMLInputElement && !target.matches(':disabled');
  addEventListener('dragover', (event) => {
    document.body.classList.toggle('over', !isField(event));
    if (!isField(event)) event.preventDefault();
  });
  addEventListener('dragleave', () => document.body.classList.remove('over'));
  const takeDrop = async (event) => {
    document.body.classList.remove('over');
    if (isField(event)) return;
    event.preventDefault();
    const items = [...event.dataTransfer.items].filter(({ kind }) => kind === 'file');
    const [entry] = items.map((item) => item.webkitGetAsEntry());
    const handle = items[0]?.getAsFileSystemHandle?.();
    const dropped = event.dataTransfer.files;
    [chosen, find('file').value, find('folder').value] = [undefined, '', ''];
    const own = clear();
    if (items.length !== 1 || !entry)
      return refuse('drop one file, or one folder; what you have from elsewhere has fields of its own');
    if (entry.isFile) find('file').files = dropped;
    // Chromium does not open every folder that is dropped, and may not say so.
    say('', `Reading ${entry.name} …`, 'If it goes no further, choose it by its field above.');
    let files = [[entry.name, dropped[0]]];
    if (entry.isDirectory)
      files = await (handle ? filesInHandle(await handle, entry.name) : filesInEntry(entry, entry.name));
    if (isOver(own)) return;
    chosen = { name: entry.name, files, isFolder: !entry.isFile };
    check();
  };
  addEventListener('drop', (event) => void takeDrop(event));
  addEventListener('error', ({ message }) => refuse(message));
  addEventListener('unhandledrejection', ({ reason }) => refuse(reason?.message ?? 'a file could not be read'));
  form.reset();
}

if (typeof document === 'undefined') startWorker();
else startPage(URL.createObjectURL(new Blob([document.currentScript.textContent], { type: 'text/javascript' })));
