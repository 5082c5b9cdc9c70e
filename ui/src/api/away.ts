/** Presence of the app: each call tells if it was answered, so nothing more has to be asked. */
const told = new EventTarget();
let latestAnswer = Date.now();
let isAway = false;

/** Notes that a call was answered (whatever the answer), or was not. */
export function tellAnswered(answered: boolean): void {
  if (answered) latestAnswer = Date.now();
  if (isAway !== answered) return;
  isAway = !answered;
  told.dispatchEvent(new Event('told'));
}

/** Time of the latest answer (milliseconds) of an app that does not answer; undefined if it does. */
export function awaySince(): number | undefined {
  return isAway ? latestAnswer : undefined;
}

/** Calls `then` whenever that changes; gives the way to stop. */
export function onAway(then: () => void): () => void {
  told.addEventListener('told', then);
  return () => told.removeEventListener('told', then);
}
