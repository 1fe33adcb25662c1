/** The command palette, and the keys of the page. Every action is in a menu too. */
import { computed, signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { WireSession } from "../../src/client/client.ts";
import { newest } from "../api/live.ts";
import { shownText } from "../parts/shown-text.ts";
import { Time } from "../parts/time.tsx";
import { navigate, pathTo } from "../routes.ts";

export interface Command {
  label: string;
  keys?: string;
  /** The session that the command opens. Names can be equal, so its repository and its time are shown too. */
  session?: WireSession;
  run(): void;
}

/** What the open view adds. */
export const viewCommands = signal<readonly Command[]>([]);

const isOpen = signal(false);
const typed = signal("");
const chosen = signal(0);

export function openPalette(): void {
  typed.value = "";
  chosen.value = 0;
  isOpen.value = true;
}

/** A new session may be open already. Otherwise its field takes the focus when it is drawn. */
function beginSession(): void {
  navigate(pathTo("sessions", {}, { new: "" }));
  document.getElementById("composer")?.focus();
}

/** The instruction that is written begins a session if the view has no field. */
function write(): void {
  const field = document.getElementById("composer");
  if (field === null) beginSession();
  else field.focus();
}

const places: readonly Command[] = [
  { label: "Write", keys: "/", run: write },
  { label: "New session", keys: "g n", run: beginSession },
  { label: "Waiting for you", keys: "g w", run: () => navigate(pathTo("approvals")) },
  { label: "Costs", keys: "g c", run: () => navigate(pathTo("costs")) },
  { label: "Ask several models", keys: "g a", run: () => navigate(pathTo("several")) },
  { label: "Map of forks", keys: "g m", run: () => navigate(pathTo("map")) },
  { label: "Administration", run: () => navigate(pathTo("admin")) },
];

const commands = computed((): Command[] => {
  const sessions = (newest.value ?? []).map((session) => ({
    label: shownText(session.name),
    session,
    run: () => navigate(pathTo("session", { session: session.id })),
  }));
  const words = typed.value.toLowerCase().split(/\s+/);
  return [...viewCommands.value, ...places, ...sessions].filter(({ label }) =>
    words.every((word) => label.toLowerCase().includes(word)),
  );
});

export function Palette() {
  const field = useRef<HTMLInputElement>(null);
  const dialog = useRef<HTMLDialogElement>(null);
  // A person types on at once, so the field has the focus before anything else happens.
  useLayoutEffect(() => {
    if (!isOpen.value) return dialog.current?.close();
    dialog.current?.showModal();
    field.current?.focus();
  }, [isOpen.value]);
  const run = (command: Command | undefined): void => {
    isOpen.value = false;
    command?.run();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      const last = Math.max(0, commands.value.length - 1);
      chosen.value = Math.min(last, Math.max(0, chosen.value + step));
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(commands.value[chosen.value]);
    }
  };
  return (
    <dialog
      class="palette"
      ref={dialog}
      aria-label="Commands"
      onClose={() => (isOpen.value = false)}
      onKeyDown={onKeyDown}
    >
      {isOpen.value && (
        <>
          <input
            ref={field}
            role="combobox"
            aria-label="Command or session"
            aria-expanded="true"
            aria-controls="commands"
            aria-activedescendant={`command-${chosen.value}`}
            placeholder="Command or session"
            value={typed.value}
            onInput={({ currentTarget }) => {
              typed.value = currentTarget.value;
              chosen.value = 0;
            }}
          />
          <ul id="commands" role="listbox" aria-label="Commands">
            {commands.value.slice(0, 60).map((command, at) => (
              <li
                key={at}
                id={`command-${at}`}
                role="option"
                aria-selected={at === chosen.value}
                onClick={() => run(command)}
              >
                <bdi>{command.label}</bdi>
                {command.session !== undefined && <SessionFacts session={command.session} />}
                {command.keys !== undefined && <kbd>{command.keys}</kbd>}
              </li>
            ))}
          </ul>
          {commands.value.length === 0 && <p class="dim">Nothing has this name.</p>}
        </>
      )}
    </dialog>
  );
}

function SessionFacts({ session: { repo, activeAt } }: { session: WireSession }) {
  return (
    <span class="dim small-text palette-facts">
      {repo !== null && `${shownText(repo.split("/").at(-1) ?? repo)} · `}
      <Time at={activeAt} />
    </span>
  );
}

let isGoing = false;
/** The time of the last key that belonged to a text, in milliseconds as events count them. */
let textAt = Number.NEGATIVE_INFINITY;
/** A character that follows a part of a text sooner than this, in milliseconds, belongs to the text, and is no key of the page. */
const textPauseMs = 1_000;

/** Keys that count everywhere but in fields: `g` and a letter, and those of the view. Returns a function that ends it. */
export function listenForKeys(): () => void {
  const onKey = (event: KeyboardEvent): void => {
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      openPalette();
      return;
    }
    const inField = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
    if (inField || document.querySelector(":modal") !== null || event.metaKey || event.ctrlKey || event.altKey) return;
    // Enter belongs to what has the focus.
    if (event.key === "Enter" && event.target instanceof Element && event.target.matches("button, a, summary")) return;
    const command = commandOf(event);
    if (command === undefined) return;
    event.preventDefault();
    command.run();
  };
  addEventListener("keydown", onKey);
  return () => removeEventListener("keydown", onKey);
}

const help: Command = { label: "Commands", keys: "?", run: openPalette };

function commandOf({ key, timeStamp }: KeyboardEvent): Command | undefined {
  const isCharacter = key.length === 1;
  const isText = isCharacter && timeStamp - textAt < textPauseMs;
  const keys = isGoing ? `g ${key}` : key;
  const command = isText ? undefined : [...viewCommands.value, ...places, help].find((one) => one.keys === keys);
  isGoing = !isText && !isGoing && key === "g";
  // A space scrolls, unless it is in the middle of a text.
  if (isCharacter && command === undefined && !isGoing && (isText || key !== " ")) textAt = timeStamp;
  return command;
}
