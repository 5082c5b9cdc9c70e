/** Finds a character again and again in a text that is read forwards, and looks at each place once. */
export function nextOf(character: string) {
  let found = -1;
  return {
    /** The first place at `from` or later; the length of the text if there is none. `from` must not go back. */
    in(text: string, from: number): number {
      if (found < from) {
        found = text.indexOf(character, from);
        if (found === -1) found = text.length;
      }
      return found;
    },
    /** Another text follows. */
    reset(): void {
      found = -1;
    },
  };
}
