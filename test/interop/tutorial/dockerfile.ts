/** An instruction of a Dockerfile, with its words. */
export type Instruction = { name: string; text: string };

/** A stage of a build: the instructions after a FROM. */
export type Stage = { name: string; from: string; instructions: Instruction[] };

/** The stages of a Dockerfile, with its arguments filled in. Comments and joined lines are read as Docker reads them. */
export function stagesOf(words: string): Stage[] {
  const joined = words.replaceAll(/^\s*#.*\n/gm, '').replaceAll(/\\\n\s*/g, ' ');
  const values = new Map<string, string>();
  const stages: Stage[] = [];
  for (const line of joined.split('\n').filter((each) => each.trim() !== '')) {
    const [, name = '', rest = ''] = /^(\w+) (.*)$/.exec(line) ?? [];
    const text = rest.replaceAll(/\$\{(\w+)\}/g, (all, key: string) => values.get(key) ?? all);
    if (name === 'ARG') values.set(...(text.split('=') as [string, string]));
    else if (name === 'FROM') stages.push({ ...fromOf(text, stages.length), instructions: [] });
    else stages.at(-1)?.instructions.push({ name, text });
  }
  return stages;
}

function fromOf(text: string, place: number): { from: string; name: string } {
  const [from = '', , name = String(place)] = text.split(' ');
  return { from, name };
}

/** The variables of an ENV instruction. */
export function variablesOf(text: string): string[] {
  return text.split(/\s+/).filter((each) => each !== '');
}

/** The words of an instruction in the form of a list. */
export function listOf(text: string): string[] {
  return JSON.parse(text.slice(text.indexOf('['))) as string[];
}
