/** The states that every view has besides its content: empty, loading, failed. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Failed } from "../api/loading.ts";
import { pathTo } from "../routes.ts";

/** Grey lines where text will be. They appear only if the answer takes a moment. */
export function Loading({ lines = 3 }: { lines?: number }) {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 150);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="loading" role="status" aria-label="Loading">
      {isLate && Array.from({ length: lines }, (_, at) => <div key={at} class="loading-line" />)}
    </div>
  );
}

export function Empty({ children, action }: { children: ComponentChildren; action?: ComponentChildren }) {
  return (
    <div class="empty">
      <p>{children}</p>
      {action}
    </div>
  );
}

/** What was typed stays over it. */
export function Reload() {
  return (
    <button type="button" onClick={() => location.reload()}>
      Reload
    </button>
  );
}

const hints: Record<string, string> = {
  forbidden: "Your role does not allow this.",
  blob_missing: "Stored content is missing. `aptove session verify` names what is damaged.",
  blob_damaged: "Stored content is damaged. `aptove session verify` names what is damaged.",
};

/** Another attempt gives the same, so it leads back to what is there. */
function Missing() {
  return (
    <div class="failed-state" role="alert">
      <p>This does not exist, or you may not see it.</p>
      <a class="button" href={pathTo("sessions")}>
        Go to the sessions
      </a>
    </div>
  );
}

export function FailedState({ failed, retry }: { failed: Failed; retry?: () => void }) {
  if (failed.code === "not_found") return <Missing />;
  return (
    <div class="failed-state" role="alert">
      <p>{failed.words}</p>
      {hints[failed.code] !== undefined && <p class="dim">{hints[failed.code]}</p>}
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}
