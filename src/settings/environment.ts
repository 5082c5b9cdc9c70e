/** Settings by name, as a process has them in its environment. */
export type Env = Readonly<Record<string, string | undefined>>;

/** The environment without its blank settings: they count as not set. */
export function withoutBlanks(env: Env): Env {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value?.trim()));
}
