import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { CallFailed } from '../api/call.ts';
import { FieldErrors, failureText, faultsOf } from './Failure.tsx';
import { FaultsContext, Field } from './Field.tsx';

interface DialogProps {
  /** The question, with what it is about. */
  title: string;
  children?: ComponentChildren;
  /** Label of the button: what it does. */
  action: string;
  /** Field for a reason, for the audit trail. Absent: there is none. */
  reason?: 'required' | 'optional';
  /** Text that has to be typed, for what cannot be undone. Absent: none. */
  typed?: string;
  /** Fault that the fields inside still have; undefined if there is none. */
  wrong?: string | undefined;
  danger?: boolean;
  /**
   * Does it. The dialog closes if this resolves with nothing, shows what it resolves with, and shows the error if it rejects. `key` is the idempotency key
   * of all that is sent while the dialog is open: after a lost answer a request with another amount is refused, since the first may have
   * been taken.
   */
  act: (reason: string | undefined, key: string) => Promise<void> | Promise<VNode | undefined>;
  close: () => void;
  /** Called if the app refuses because of the state of the thing: what the page shows is stale then. */
  stale?: () => void;
}

/**
 * A question before something is changed. The focus begins in the first field, on Cancel if there is none, and goes back to
 * where it was.
 */
export function Dialog(props: DialogProps) {
  const { title, children, action, reason, typed, wrong, danger = false, act, close, stale } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const cancel = useRef<HTMLButtonElement>(null);
  const [why, setWhy] = useState('');
  const [typedText, setTyped] = useState('');
  const [failure, setFailure] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const [result, setResult] = useState<VNode>();
  const [key] = useState(() => crypto.randomUUID());
  const shown = useRef(new Set<string>());
  const id = useId();

  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    const field = dialog.current?.querySelector<HTMLElement>('input:not([type=checkbox])');
    (field ?? cancel.current)?.focus();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);

  const missing =
    wrong ??
    (typed !== undefined && typedText !== typed ? `Type ${typed} to go on.` : undefined) ??
    (reason === 'required' && why.trim() === '' ? 'Say why: it goes into the audit trail.' : undefined);

  async function submit(): Promise<void> {
    if (missing !== undefined) {
      setFailure(missing);
      return;
    }
    setBusy(true);
    setFailure(undefined);
    try {
      const told = await act(why.trim() === '' ? undefined : why.trim(), key);
      if (told) setResult(told);
      else close();
    } catch (error) {
      if (error instanceof CallFailed && error.status === 409) stale?.();
      const isTaken = faultsOf(error).some(({ field }) => field === 'Idempotency-Key');
      setFailure(
        isTaken ? 'The first try, with other values, was taken: close this, and see what it did.' : error,
      );
      setBusy(false);
    }
  }

  if (result !== undefined) {
    return (
      <dialog ref={dialog} aria-labelledby={`${id}-title`} onCancel={close}>
        <h2 id={`${id}-title`}>{title.replace(/\?$/, '')}</h2>
        {result}
        <footer>
          <button type="button" ref={(button) => button?.focus()} onClick={close}>
            Close
          </button>
        </footer>
      </dialog>
    );
  }
  return (
    <dialog
      ref={dialog}
      aria-labelledby={`${id}-title`}
      onCancel={(event) => {
        event.preventDefault();
        if (!busy) close();
      }}
    >
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <h2 id={`${id}-title`}>{title}</h2>
        <FaultsContext.Provider value={{ errors: faultsOf(failure), shown: shown.current }}>
          {children}
          {typed !== undefined && (
            <Field
              name="typed"
              label={
                <>
                  Type <code>{typed}</code>
                </>
              }
              value={typedText}
              change={setTyped}
            />
          )}
          {reason !== undefined && (
            <Field
              name="reason"
              label={`Reason${reason === 'optional' ? ' (optional)' : ''}`}
              value={why}
              change={setWhy}
              maxLength={500}
            />
          )}
        </FaultsContext.Provider>
        {failure !== undefined && (
          <div class="wrong" role="alert">
            <p>{failureText(failure)}</p>
            <FieldErrors error={failure} but={shown.current} />
          </div>
        )}
        <footer>
          <button type="button" ref={cancel} disabled={busy} onClick={close}>
            Cancel
          </button>
          <button type="submit" class={danger ? 'danger' : 'primary'} disabled={busy}>
            {busy ? 'Working …' : action}
          </button>
        </footer>
      </form>
    </dialog>
  );
}
