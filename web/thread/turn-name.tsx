/** The name of a turn (U5), and the field in which it is changed. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Thread } from "../api/thread.ts";
import { shownText } from "../parts/shown-text.ts";
import { nameTurn } from "./turn-actions.ts";

/** The turn whose name is changed now. */
export const namedTurn = signal<string | null>(null);

export function TurnName({ thread, turnId }: { thread: Thread; turnId: string }) {
  const name = thread.names.value.get(turnId) ?? "";
  if (namedTurn.value === turnId) return <NameField thread={thread} turnId={turnId} name={name} />;
  return name === "" ? null : (
    <span class="turn-name">
      <span aria-hidden="true">★ </span>
      <bdi>{shownText(name)}</bdi>
    </span>
  );
}

function NameField({ thread, turnId, name }: { thread: Thread; turnId: string; name: string }) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const save = (): void => {
    if (namedTurn.value !== turnId) return;
    namedTurn.value = null;
    const chosen = field.current?.value.trim() ?? "";
    if (chosen !== name) void nameTurn(thread, turnId, chosen);
  };
  return (
    <form
      class="turn-name"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <input
        ref={field}
        aria-label="Name of the turn"
        placeholder="Name of the turn"
        maxLength={80}
        defaultValue={name}
        onBlur={save}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.stopPropagation();
          namedTurn.value = null;
        }}
      />
    </form>
  );
}
