import { useId } from 'preact/hooks';
import { useReadOnly } from '../hooks/session.ts';

/** A button that changes something. While it cannot, it says why. */
export function ActionButton({
  label,
  why,
  danger = false,
  onClick,
}: {
  label: string;
  /** Why it cannot be used now; undefined if it can. */
  why?: string | undefined;
  danger?: boolean;
  onClick: () => void;
}) {
  const readOnly = useReadOnly();
  const id = useId();
  const reason = readOnly ?? why;
  return (
    <>
      <button
        type="button"
        class={danger ? 'danger' : ''}
        aria-disabled={reason !== undefined}
        aria-describedby={reason === undefined ? undefined : id}
        title={reason}
        onClick={() => reason === undefined && onClick()}
      >
        {label}
      </button>
      {reason !== undefined && (
        <span id={id} class="hidden">
          {reason}
        </span>
      )}
    </>
  );
}
