const happened = new EventTarget();

/** Tells the page that the app no longer knows who is calling; `why` if the person has not asked for that. */
export function tellSignedOut(why = ''): void {
  happened.dispatchEvent(new CustomEvent('signed out', { detail: why }));
}

/** Calls `then` whenever that happens; gives the way to stop. */
export function signedOut(then: (why: string) => void): () => void {
  const listener = (event: Event) => then(event instanceof CustomEvent ? String(event.detail) : '');
  happened.addEventListener('signed out', listener);
  return () => happened.removeEventListener('signed out', listener);
}
