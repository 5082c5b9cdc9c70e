/** Messages of a release to come, and its process, which takes them once it is there. */

/** A version that no release has. */
const newerVersion = 99;

export function newerMessage(number: number): { version: number; number: number } {
  return { version: newerVersion, number };
}

export interface NewerRelease {
  /** From now on its process runs, and each of its messages that is delivered goes to it. */
  start(): void;
  /** Returns true if it takes this message. */
  takes(message: { text: string }): boolean;
  /** Different messages that it has taken. */
  readonly taken: number;
}

export function createNewerRelease(): NewerRelease {
  const taken = new Set<string>();
  let runs = false;

  return {
    start() {
      runs = true;
    },
    takes({ text }) {
      if (!runs || !text.includes(`"version":${newerVersion}`)) return false;
      taken.add(text);
      return true;
    },
    get taken() {
      return taken.size;
    },
  };
}
