import type { ServerResponse } from 'node:http';
import type { Intercept, S3Model } from './s3-model.ts';

/** A way in which a store harms who asks it. `intercept`: what answers in its place, made for one run of a command. */
export type Hostile = {
  what: string;
  intercept: (model: S3Model) => Intercept;
  /** Whether a command may be done all the same. */
  isHarmless?: boolean;
  /** Whether who fetches a whole state does as at another answer of the same kind. */
  isAlike?: boolean;
};

/** The five kinds of a hostile store. */
export type HostileKind = 'endless list' | 'endless body' | 'entity bomb' | 'wrong tags' | 'old bytes';

type Asked = Parameters<Intercept>[2];

const isList = ({ key, query }: Asked): boolean =>
  key === '' && ['versions', 'uploads', 'list-type'].some((name) => query.has(name));
const isObject = (method: string | undefined, { key, query }: Asked): boolean =>
  method === 'GET' && key !== '' && !query.has('retention') && !query.has('legal-hold');

const xmlHead = '<?xml version="1.0"?>';
const megabyte = 1 << 20;

/** Lists, of which each page is made of its number and of where it begins. */
function lists(what: string, page: (number: number, after: string) => string): Hostile {
  return {
    what,
    intercept: () => {
      let pages = 0;
      return (_request, response, asked) => {
        if (!isList(asked)) return false;
        const { query } = asked;
        const name = query.has('versions')
          ? 'ListVersionsResult'
          : query.has('uploads')
            ? 'ListMultipartUploadsResult'
            : 'ListBucketResult';
        const after = query.get('start-after') ?? query.get('prefix') ?? '';
        response.writeHead(200, { Date: new Date().toUTCString() });
        response.end(`${xmlHead}<${name}>${page((pages += 1), after)}</${name}>`);
        return true;
      };
    },
  };
}

const truncated = (marker: string): string =>
  `<IsTruncated>true</IsTruncated><NextKeyMarker>${marker}</NextKeyMarker><NextVersionIdMarker>v${marker}</NextVersionIdMarker>` +
  `<NextUploadIdMarker>u${marker}</NextUploadIdMarker>`;

/** A page of a thousand names, in the words of each kind of list. `after`: the name that they come behind. */
function names(page: number, after: string, long = ''): string {
  return Array.from({ length: 1_000 }, (_name, index) => {
    const number = String(page * 1_000 + index).padStart(12, '0');
    const below = /^.*\//.exec(after)?.[0] ?? 'mirror/';
    const about = `<Key>${below}${number}${long}.jsonl</Key>`;
    const version = `<VersionId>${number}${long}</VersionId><IsLatest>true</IsLatest><LastModified>2026-11-26T12:00:00.000Z</LastModified>`;
    const facts = `<ETag>"${number.padStart(32, '0')}${long}"</ETag><Size>1</Size>`;
    return `<Version>${about}${version}${facts}</Version><Contents>${about}${facts}</Contents>`;
  }).join('');
}

const endlessLists = [
  lists('whose pages lead to the same one', () => truncated('same')),
  lists('of empty pages under new names', (page) => truncated(String(page))),
  lists('of full pages under new names', (page, after) => truncated(String(page)) + names(page, after)),
  lists('of full pages of long names', (page, after) => truncated(String(page)) + names(page, after, 'n'.repeat(250))),
  lists('of pages that lead on by a long name', (page) => truncated(`${page}${'m'.repeat(4_000)}`)),
  lists(
    'of pages with one name in a long text',
    (page, after) =>
      `${truncated(String(page))}${names(page, after)
        .slice(0, 200)
        .replace(/<Version>.*/, '')}` +
      `<Version><Key>mirror/${page}-of-a-long-text</Key></Version><Contents><Key>${after}${page}</Key></Contents>${`<Text>${' '.repeat(16_000)}</Text>`.repeat(20)}`,
  ),
];

/** Sends what never ends, as fast as it is taken. */
function sendOn(response: ServerResponse): void {
  while (!response.destroyed) if (!response.write(filler)) return void response.once('drain', () => sendOn(response));
}

function bodies(
  what: string,
  isAsked: (method: string | undefined, asked: Asked) => boolean,
  answer: (response: ServerResponse) => unknown,
): Hostile {
  return {
    what,
    intercept: () => (request, response, asked) => {
      if (!isAsked(request.method, asked)) return false;
      response.setHeader('Date', new Date().toUTCString());
      void answer(response);
      return true;
    },
  };
}

const filler = 'x'.repeat(64 * 1024);
const endless = (status: number, headers: Record<string, string>, start: string) => (response: ServerResponse) => {
  response.writeHead(status, headers).write(start);
  sendOn(response);
};
const errorStart = `${xmlHead}<Error><Code>InternalError</Code><Message>`;
const gibibyte = 2 ** 30;

const endlessBodies = [
  bodies('of a list', (_method, asked) => isList(asked), endless(200, {}, `${xmlHead}<ListVersionsResult><Text>`)),
  bodies('of the error of a list', (_method, asked) => isList(asked), endless(500, {}, errorStart)),
  bodies('of the error of an object', isObject, endless(500, {}, errorStart)),
  bodies('of the refusal of an object', isObject, endless(403, {}, errorStart)),
  bodies('of an object that is not there', isObject, endless(404, {}, errorStart)),
  bodies('of an object', isObject, endless(200, { ETag: '"tag"' }, 'x')),
  bodies(
    'of an object that says it has a gigabyte',
    isObject,
    endless(200, { ETag: '"tag"', 'Content-Length': String(gibibyte) }, 'x'),
  ),
  bodies('of an object that ends before its length', isObject, (response) => {
    response.writeHead(200, { ETag: '"tag"', 'Content-Length': '1000000' }).write('x');
    setImmediate(() => response.destroy());
  }),
  bodies(
    'of what a put is answered',
    (method, { key }) => method === 'PUT' && key !== '',
    endless(200, { ETag: '"tag"' }, errorStart),
  ),
  bodies('of what a deletion is answered', (method) => method === 'DELETE', endless(200, {}, errorStart)),
];

/** Answers in XML, as a list, and as the error of an object. */
function bombs(what: string, body: () => string): Hostile[] {
  const made = (): ((response: ServerResponse) => unknown) => {
    const text = body();
    return (response) => response.end(text);
  };
  let send: ((response: ServerResponse) => unknown) | undefined;
  const answer = (status: number) => (response: ServerResponse) => {
    send ??= made();
    response.writeHead(status);
    return send(response);
  };
  return [
    bodies(`as a list: ${what}`, (_method, asked) => isList(asked), answer(200)),
    {
      ...bodies(`as an error: ${what}`, (method, asked) => isList(asked) || isObject(method, asked), answer(500)),
      isAlike: true,
    },
  ];
}

const laughs = (): string => {
  const entities = Array.from(
    { length: 12 },
    (_entity, index) => `<!ENTITY e${index + 1} "${`&e${index};`.repeat(10)}">`,
  );
  return `${xmlHead}<!DOCTYPE r [<!ENTITY e0 "${'ha'.repeat(50)}">${entities.join('')}]><ListVersionsResult><Text>&e12;</Text></ListVersionsResult>`;
};
const within = (content: string): string => `${xmlHead}<ListVersionsResult>${content}</ListVersionsResult>`;

/** Each is as large as one bound lets it be, or beyond it. */
const entityBombs = [
  ...bombs('entities of entities', laughs),
  ...bombs('many document types', () => xmlHead + '<!DOCTYPE r>'.repeat(90_000)),
  ...bombs('nesting', () => within('<a>'.repeat(45_000) + '</a>'.repeat(45_000))),
  ...bombs('deep nesting', () => within('<a>'.repeat(290_000) + '</a>'.repeat(290_000))),
  ...bombs('many elements', () => within('<a/>'.repeat(95_000))),
  ...bombs('more elements', () => within('<a/>'.repeat(500_000))),
  ...bombs('attributes of elements', () =>
    within(`<a ${Array.from({ length: 1_000 }, (_a, index) => `b${index}=""`).join(' ')}/>`.repeat(250)),
  ),
  ...bombs('texts of entities', () => within(`<Text>${'&lt;'.repeat(4_000)}</Text>`.repeat(125))),
  ...bombs('one long text', () => within(`<Text>${'x'.repeat(1.9 * megabyte)}</Text>`)),
  ...bombs('a longer text', () => within(`<Text>${'x'.repeat(15 * megabyte)}</Text>`)),
  ...bombs('a text of many comments', () => within('<!--x-->x'.repeat(95_000))),
];

/** Tags that are not those of the objects: `change` gets the right one. */
function tags(what: string, change: (tag: string) => string | undefined, isAlike = false): Hostile {
  return {
    what,
    isHarmless: true,
    isAlike,
    intercept: () => (_request, response) => {
      const writeHead = response.writeHead.bind(response);
      response.writeHead = ((status: number, headers: Record<string, string> = {}) => {
        const { ETag, ...others } = headers;
        const changed = ETag === undefined ? undefined : change(ETag);
        return writeHead(status, changed === undefined ? others : { ...others, ETag: changed });
      }) as typeof writeHead;
      return false;
    },
  };
}

const wrongTags: Hostile[] = [
  tags('that are missing', () => undefined),
  tags('that are empty', () => ''),
  tags('of another object', () => `"${'0'.repeat(32)}"`),
  tags('that are others each time', () => `"${Math.random().toString(16).slice(2)}"`, true),
  tags('that any object has', () => '*'),
  tags('without quotes', (tag) => tag.replaceAll('"', ''), true),
  tags('with quotes within', (tag) => `"${tag}"`, true),
  tags('of weak equality', (tag) => `W/${tag}`, true),
  tags('of 8,000 characters', () => `"${'t'.repeat(8_000)}"`),
  {
    what: 'at which a put does not look',
    isHarmless: true,
    intercept: (model) => {
      model.vices.ignoresConditions = true;
      return () => false;
    },
  },
];

/** Objects of an earlier time: the first bytes that stood at a name. */
function older(what: string, isOlder: (method: string | undefined) => boolean): Hostile {
  return {
    what,
    isHarmless: true,
    intercept: (model) => {
      const first = new Map([...model.oldest].map(([key, bytes]) => [key, bytes]));
      return (request, response, { key }) => {
        const bytes = first.get(key);
        const now = model.versions.get(key)?.at(-1);
        if (!isOlder(request.method) || !bytes || !now?.bytes || bytes.equals(now.bytes)) return false;
        response.writeHead(200, {
          Date: new Date().toUTCString(),
          ETag: model.tagOf(now.bytes),
          'Content-Length': String(bytes.length),
          ...(now.publisher === undefined ? {} : { 'x-amz-meta-publisher': now.publisher }),
        });
        response.end(request.method === 'HEAD' ? undefined : bytes);
        return true;
      };
    },
  };
}

const oldBytes = [older("under today's name and tag", (method) => method === 'GET')];

/** What a hostile store does, by its kind. */
export const hostileAnswers: Readonly<Record<HostileKind, readonly Hostile[]>> = {
  'endless list': endlessLists,
  'endless body': endlessBodies,
  'entity bomb': entityBombs,
  'wrong tags': wrongTags,
  'old bytes': oldBytes,
};
