import { isRecord, type Value, variableValue } from './evaluate.ts';
import { type BicepFile, propertiesOf } from './readBicep.ts';

export interface AssignedRole {
  module: string;
  name: string;
  /** Id of an Azure role or of a Cosmos DB data plane role. */
  id: string;
  /** A resource symbol, or the text of an id with `<…>` for parts that only Azure knows. */
  scope: string;
  why: string;
}

/** The roles that a module assigns: its variable `roles`, or another ending in `Roles`, if a resource assigns each of them. */
export function rolesOf(file: BicepFile): AssignedRole[] {
  const assignments = [...file.resources.values()].filter(({ type }) =>
    /\/(sqlR|r)oleAssignments@/.test(type),
  );
  return assignments.flatMap(({ body, value }) => {
    // Every assignment in infra/ loops over a list (`[for role in roles: …]`), so the list is complete.
    const variable = /^\[\s*for role in (roles|\w+Roles):/.exec(value?.text ?? '')?.[1];
    if (variable === undefined) throw new Error(`${file.file}: role assignments must loop over roles`);
    const symbol = propertiesOf(body).get('scope')?.text;
    const list = variableValue(file, variable);
    return (Array.isArray(list) ? list : []).map((role) => ({
      module: file.file,
      name: textOf(role, 'name'),
      id: textOf(role, 'id'),
      scope: symbol ?? textOf(role, 'scope'),
      why: textOf(role, 'why'),
    }));
  });
}

function textOf(role: Value, property: string): string {
  const value = isRecord(role) ? role[property] : undefined;
  if (typeof value === 'string') return value;
  return isUnknown(value) ? `<${value.text}>` : '';
}

function isUnknown(value: Value | undefined): value is { text: string } & Value {
  return typeof value === 'object' && value !== null && 'text' in value;
}
