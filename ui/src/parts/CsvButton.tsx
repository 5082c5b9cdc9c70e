import { useEffect, useRef, useState } from 'preact/hooks';
import { download } from '../api/call.ts';
import { announce } from './Announcements.tsx';
import { failureText } from './Failure.tsx';

/** A button that saves what a call answers as CSV. While it comes, the button says how much has come, and stops it. */
export function CsvButton({ path, name }: { path: string; name: string }) {
  const [bytes, setBytes] = useState<number>();
  const stop = useRef<AbortController>(undefined);
  useEffect(() => () => stop.current?.abort(), []);

  async function save(): Promise<void> {
    const controller = new AbortController();
    stop.current = controller;
    setBytes(0);
    try {
      await download(path, { name, accept: 'text/csv', signal: controller.signal, told: setBytes });
      announce(`${name} is saved.`);
    } catch (error) {
      announce(controller.signal.aborted ? `${name} was stopped.` : failureText(error));
    } finally {
      setBytes(undefined);
    }
  }

  return (
    <button type="button" onClick={() => (bytes === undefined ? void save() : stop.current?.abort())}>
      {bytes === undefined ? 'CSV' : `Stop CSV (${progressText(bytes)})`}
    </button>
  );
}

function progressText(bytes: number): string {
  return bytes === 0 ? 'being made' : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
