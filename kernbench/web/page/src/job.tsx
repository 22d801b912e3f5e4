// A button that starts a job, its progress while it runs, and what became of it.
import { useState } from "preact/hooks";
import type { JobHandle } from "./jobs";

interface JobBoxProps {
  handle: JobHandle;
  label: string; // of the button
  note?: string; // what it does, beside the button
  command: string | undefined; // what is run, as one would type it; undefined where it is not known
  refused?: string | undefined; // why it cannot be started
}

export function JobBox({ handle, label, note, command, refused }: JobBoxProps) {
  const { job, starting, problem, start, cancel } = handle;
  const running = job?.state === "running" ? job : null;
  return (
    <div class="job" aria-live="polite">
      {!running && !starting && (
        <div class="row">
          <button type="button" class="go" disabled={Boolean(refused)} onClick={start}>
            {label}
          </button>
          {note && <span class="note">{note}</span>}
        </div>
      )}
      {(running || starting) && (
        <>
          <div class="row">
            <span>{running?.stage ?? "starting"}</span>
            <span class="note">{Math.round(running?.seconds ?? 0)} s</span>
            <button type="button" disabled={!running} onClick={cancel}>
              Cancel
            </button>
          </div>
          <progress aria-label={label} {...(running?.share == null ? {} : { value: running.share })} max={1} />
        </>
      )}
      {job?.state === "cancelled" && <p class="note">Cancelled; nothing was kept.</p>}
      {(problem ?? job?.error ?? refused) && (
        <p class="wrong" role="alert">
          {problem ?? job?.error ?? refused}
        </p>
      )}
      {command && <CommandLine text={command} />}
    </div>
  );
}

const COPIED_MS = 1500;

export function CommandLine({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  async function copy(): Promise<void> {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  }
  return (
    <div class="command">
      <pre tabIndex={0}>{text}</pre>
      <button type="button" onClick={copy}>
        {copied ? "Copied" : "Copy"}
      </button>
    </div>
  );
}
