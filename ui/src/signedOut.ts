const happened = new EventTarget();

/** Tells the page that the app no longer knows who is calling. */
export function tellSignedOut(): void {
  happened.dispatchEvent(new Event('signed out'));
}

/** Calls `then` whenever that happens; gives the way to stop. */
export function signedOut(then: () => void): () => void {
  happened.addEventListener('signed out', then);
  return () => happened.removeEventListener('signed out', then);
}
