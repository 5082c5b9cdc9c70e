import { evaluate, type Value } from './evaluate.ts';
import { parts } from './parseBicep.ts';
import type { BicepFile, DeclaredResource } from './readBicep.ts';

/** The value of a resource's body. Parameters resolve to `given`, then to their default, or stay unknown. */
export function bodyValue(file: BicepFile, resource: string, given: Record<string, Value> = {}): Value {
  return evaluate(declared(file, resource).body, file, given);
}

/** The body values of `[for element in list: { }]`, one per element. */
export function bodyValues(file: BicepFile, resource: string, given: Record<string, Value> = {}): Value[] {
  const { value, body } = declared(file, resource);
  const [variable, list] = value?.type === 'for_statement' ? parts(value) : [];
  if (variable === undefined || list === undefined)
    throw new Error(`${file.file}: ${resource} is not a loop over a list`);
  const elements = evaluate(list, file, given);
  if (!Array.isArray(elements)) throw new Error(`${file.file}: the list of ${resource} is unknown`);
  return elements.map((element) => evaluate(body, file, given, new Map([[variable.text, element]])));
}

function declared(file: BicepFile, resource: string): DeclaredResource {
  const found = file.resources.get(resource);
  if (found === undefined) throw new Error(`${file.file} has no resource ${resource}`);
  return found;
}
