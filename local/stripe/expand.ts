import { children, type Form } from './form.ts';
import { invalid } from './refusal.ts';

/** The object whose id a field has; undefined if the text is no id. */
export type LookUp = (id: string, field: string) => object | undefined;

/** Replaces ids in an object, or in the objects of a list, by what they stand for. */
export type Expand = (value: object) => object;

/** Reads `expand[]` (https://docs.stripe.com/api/expanding_objects), such as `data.latest_charge` for a list. */
export function expandAs(form: Form, lookUp: LookUp): Expand {
  const paths = Object.values(children(form, 'expand'));
  return (value) =>
    paths.reduce<object>((expanded, path) => expandPath(expanded, path.split('.'), path, lookUp), value);
}

/** @throws {Refusal} if the path leads to nothing that can be expanded */
function expandPath(
  value: object,
  [field = '', ...rest]: readonly string[],
  path: string,
  lookUp: LookUp,
): object {
  if (Array.isArray(value)) {
    return value.map((each: object) => expandPath(each, [field, ...rest], path, lookUp));
  }
  if (!Object.hasOwn(value, field)) throw cannotExpand(path);
  const found: unknown = Reflect.get(value, field);
  if (found === null) return value;
  const inner = typeof found === 'string' ? lookUp(found, field) : found;
  if (typeof inner !== 'object' || inner === null) throw cannotExpand(path);
  return { ...value, [field]: rest.length === 0 ? inner : expandPath(inner, rest, path, lookUp) };
}

function cannotExpand(path: string) {
  return invalid(undefined, `This property cannot be expanded (${path}).`);
}
