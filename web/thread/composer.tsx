/** The place where a person writes (U4): the next instruction, or a message to the turn that runs. */
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { client } from "../api/connection.ts";
import type { Thread } from "../api/thread.ts";
import { bytes } from "../parts/numbers.ts";
import { shownText } from "../parts/shown-text.ts";
import { attachedBytesMax, readAttachment } from "./attachments.ts";
import { Choices, SearchedCode } from "./choices-row.tsx";
import { repositoriesFor } from "./choices.ts";
import { draftOf, type Draft } from "./drafts.ts";
import { FileNames, useFileNames } from "./file-names.tsx";
import { takeBegun, useSending, type Sending, type SendingOf } from "./sending.ts";

interface ComposerProps extends Pick<SendingOf, "thread" | "run"> {
  /** The turn at which the instruction begins a fork. */
  fork?: string;
  /** True if the person came here to write. */
  takesFocus?: boolean;
}

/** A finger has no keyboard of its own: Enter begins a line, and a field that takes the focus covers half of the view with keys. */
const isTouched = (): boolean => matchMedia("(pointer: coarse)").matches;

export function Composer({ thread, fork, run, takesFocus = false }: ComposerProps) {
  const kept = draftOf(fork === undefined ? (thread?.id ?? null) : `fork ${fork}`);
  const { text: draft, attached, fault } = kept;
  const sending = useSending({ thread, fork, draft: kept, run });
  const field = useRef<HTMLTextAreaElement>(null);
  const isRunning = fork === undefined && thread !== null && thread.running.value !== null;

  // This comes before anything can be typed: while no field has the focus, letters are keys of the page.
  useLayoutEffect(() => {
    if (takesFocus || (thread !== null && takeBegun(thread.id))) field.current?.focus();
  }, []);
  useGrowingField(field, draft.value);
  const names = useFileNames(field, { draft, repos: repositoriesFor(thread) });

  const attach = async (files: Iterable<File>): Promise<void> => {
    for (const file of files) {
      const size = attached.value.reduce((sum, one) => sum + one.size, file.size);
      if (size > attachedBytesMax) {
        fault.value = { words: `${file.name} does not fit: at most ${bytes(attachedBytesMax)} together.`, code: "" };
        return;
      }
      attached.value = [...attached.value, await readAttachment(file)];
    }
  };
  /** The button that was pressed may be gone in a moment, and the person writes on. */
  const press = (action: () => Promise<unknown>): void => {
    if (!isTouched()) field.current?.focus();
    void action();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (names.onKey(event)) return;
    if (event.key === "Escape") field.current?.blur();
    const isSend = event.key === "Enter" && !event.shiftKey && !event.isComposing;
    if (!isSend || (isTouched() && !event.ctrlKey)) return;
    event.preventDefault();
    void sending.send();
  };
  return (
    <form
      class="composer"
      aria-label="Write to the model"
      onSubmit={(event) => {
        event.preventDefault();
        press(sending.send);
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void attach(event.dataTransfer?.files ?? []);
      }}
    >
      {fault.value !== null && <Fault fault={fault.value} />}
      <Attached draft={kept} />
      <SearchedCode thread={thread} isFork={fork !== undefined} />
      <FileNames names={names} />
      <textarea
        id="composer"
        ref={field}
        rows={2}
        aria-label="Instruction"
        aria-describedby="searched"
        aria-autocomplete="list"
        aria-controls={names.paths.value.length > 0 ? "file-names" : undefined}
        aria-activedescendant={names.paths.value.length > 0 ? `file-name-${names.at.value}` : undefined}
        placeholder={isRunning ? "Write to the running turn, or for after it" : "Ask, or say what to do"}
        value={draft.value}
        onInput={({ currentTarget }) => (draft.value = currentTarget.value)}
        onKeyDown={onKeyDown}
        onPaste={(event) => {
          const files = event.clipboardData?.files;
          if (files !== undefined && files.length > 0) void attach(files);
        }}
      />
      <div class="composer-row">
        <Choices thread={thread} isFork={fork !== undefined} />
        <AttachButton attach={attach} />
        <Buttons thread={thread} isRunning={isRunning} isBusy={kept.isBusy.value} sending={sending} press={press} />
      </div>
    </form>
  );
}

/** The field is as high as its text, up to a part of the window. */
function useGrowingField(field: RefObject<HTMLTextAreaElement | null>, text: string): void {
  useEffect(() => {
    const element = field.current;
    if (element === null) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight, innerHeight * 0.4)}px`;
  }, [text]);
}

interface ButtonsProps {
  thread: Thread | null;
  isRunning: boolean;
  isBusy: boolean;
  sending: Sending;
  press(action: () => Promise<unknown>): void;
}

function Buttons({ thread, isRunning, isBusy, sending: { steer }, press }: ButtonsProps) {
  if (thread === null || !isRunning) {
    return (
      <div class="sends">
        <button type="submit" class="primary" disabled={isBusy}>
          Run
        </button>
      </div>
    );
  }
  return (
    <div class="sends">
      <button type="button" onClick={() => press(steer)}>
        Send now
      </button>
      <button type="submit">Queue</button>
      <button type="button" class="danger" onClick={() => press(() => client.sessions.interrupt(thread.id))}>
        Stop
      </button>
    </div>
  );
}

function Fault({ fault: { words, code } }: { fault: { words: string; code: string } }) {
  return (
    <p class="notice fail" role="alert">
      {code === "head_moved"
        ? "The conversation went on elsewhere. It is shown now; run again to continue from its new head."
        : words}
    </p>
  );
}

function AttachButton({ attach }: { attach: (files: Iterable<File>) => Promise<void> }) {
  return (
    <label class="button quiet icon-button" title="Attach a file">
      <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
        <path d="M12 5v14M5 12h14" />
      </svg>
      <span class="spoken">Attach a file</span>
      <input
        type="file"
        multiple
        class="spoken"
        onChange={({ currentTarget }) => void attach(currentTarget.files ?? [])}
      />
    </label>
  );
}

function Attached({ draft: { attached, isAttachedKept } }: { draft: Draft }) {
  if (attached.value.length === 0) return null;
  return (
    <>
      <ul class="attached">
        {attached.value.map(({ name, size }, at) => (
          <li key={at}>
            <bdi>{shownText(name)}</bdi> <span class="dim">{bytes(size)}</span>
            <button
              type="button"
              class="quiet small"
              aria-label={`Remove ${name}`}
              onClick={() => (attached.value = attached.value.toSpliced(at, 1))}
            >
              ×
            </button>
          </li>
        ))}
      </ul>
      {!isAttachedKept.value && (
        <p class="dim small-text" role="status">
          These files are too large to be kept: attach them again if this page is loaded again.
        </p>
      )}
    </>
  );
}
