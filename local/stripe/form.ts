import { invalid, unsupported } from './refusal.ts';

/** The fields of a form-encoded body or query string, under their names as sent: `metadata[invoiceId]`. */
export type Form = ReadonlyMap<string, string>;

export function readForm(text: string): Form {
  return new Map(new URLSearchParams(text));
}

/** @throws {Refusal} 501 on a field that is neither in `known` nor a child `name[…]` of one in `nested` */
export function onlyKnown(form: Form, known: ReadonlySet<string>, nested: readonly string[] = []): void {
  for (const name of form.keys()) {
    if (known.has(name)) continue;
    if (!nested.some((parent) => name.startsWith(`${parent}[`))) throw unsupported(`the parameter '${name}'`);
  }
}

/** @throws {Refusal} if the field is missing or empty */
export function required(form: Form, name: string): string {
  const value = form.get(name);
  if (value === undefined) throw invalid(name, `Missing required param: ${name}.`, 'parameter_missing');
  if (value === '') {
    throw invalid(name, `You passed an empty string for '${name}'.`, 'parameter_invalid_empty');
  }
  return value;
}

/** @throws {Refusal} */
export function integer(name: string, text: string): number {
  if (!/^-?\d{1,15}$/.test(text))
    throw invalid(name, `Invalid integer: ${text}`, 'parameter_invalid_integer');
  return Number(text);
}

/** Absent means false. @throws {Refusal} */
export function flag(form: Form, name: string): boolean {
  const value = form.get(name) ?? 'false';
  if (value !== 'true' && value !== 'false') throw invalid(name, `Invalid boolean: ${value}`);
  return value === 'true';
}

/** The fields `parent[key]`, by key. */
export function children(form: Form, parent: string): Record<string, string> {
  const start = `${parent}[`;
  const found: [string, string][] = [];
  for (const [name, value] of form) {
    if (name.startsWith(start) && name.endsWith(']')) {
      found.push([name.slice(start.length, -1), value]);
    }
  }
  return Object.fromEntries(found);
}
