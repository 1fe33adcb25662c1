/** The place where a person writes (U4): the next instruction, or a message to the turn that runs. */
import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ExecuteRequest } from "../../src/client/client.ts";
import { client, codeOf, wordsOf } from "../api/connection.ts";
import type { Thread } from "../api/thread.ts";
import { bytes } from "../parts/numbers.ts";
import { shownText } from "../parts/shown-text.ts";
import { attachedBytesMax, inputOf, readAttachment } from "./attachments.ts";
import { Choices } from "./choices-row.tsx";
import { chosenOf, effort, forkChoice, mode, newChoice, newRepos, paths, placeOf, repositoriesOf } from "./choices.ts";
import { draftOf, type Draft } from "./drafts.ts";
import { FileNames, useFileNames } from "./file-names.tsx";

interface ComposerProps {
  thread: Thread | null;
  /** The turn at which the instruction begins a fork. */
  fork?: string;
  /** Runs the request. Throws what the server refuses. */
  run(request: ExecuteRequest, idempotencyKey: string): Promise<void>;
}

export function Composer({ thread, fork, run }: ComposerProps) {
  const kept = draftOf(fork === undefined ? (thread?.id ?? null) : `fork ${fork}`);
  const { text: draft, attached } = kept;
  const fault = useSignal<{ words: string; code: string } | null>(null);
  const isBusy = useSignal(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const isRunning = fork === undefined && thread !== null && thread.running.value !== null;

  useGrowingField(field, draft.value);
  const session = thread?.session.value ?? null;
  const names = useFileNames(field, { draft, repos: session === null ? newRepos.value : repositoriesOf(session) });

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
  const send = async (ifBusy?: "queue" | "interrupt" | "steer"): Promise<void> => {
    const text = draft.value.trim();
    if ((text === "" && attached.value.length === 0) || isBusy.value) return;
    isBusy.value = true;
    fault.value = null;
    try {
      if (ifBusy === "steer" && thread !== null) await client.sessions.steer(thread.id, text);
      else
        await run(
          { ...requestOf(thread, { fork, ifBusy }), instruction: text, ...inputOf(attached.value) },
          crypto.randomUUID(),
        );
      draft.value = "";
      attached.value = [];
    } catch (error) {
      fault.value = { words: wordsOf(error), code: codeOf(error) };
      if (codeOf(error) === "head_moved") await thread?.load();
    }
    isBusy.value = false;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (names.onKey(event)) return;
    if (event.key === "Escape") field.current?.blur();
    const isSend = event.key === "Enter" && !event.shiftKey && !event.isComposing;
    if (!isSend || (matchMedia("(pointer: coarse)").matches && !event.ctrlKey)) return;
    event.preventDefault();
    void send(isRunning ? "queue" : undefined);
  };
  return (
    <form
      class="composer"
      aria-label="Write to the model"
      onSubmit={(event) => {
        event.preventDefault();
        void send(isRunning ? "queue" : undefined);
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void attach(event.dataTransfer?.files ?? []);
      }}
    >
      {fault.value !== null && <Fault fault={fault.value} />}
      <Attached draft={kept} />
      <FileNames names={names} />
      <textarea
        id="composer"
        ref={field}
        rows={2}
        aria-label="Instruction"
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
        <Buttons thread={thread} isRunning={isRunning} isBusy={isBusy.value} send={send} />
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
  send(how: "queue" | "steer"): Promise<void>;
}

function Buttons({ thread, isRunning, isBusy, send }: ButtonsProps) {
  if (thread === null || !isRunning) {
    return (
      <button type="submit" class="primary" disabled={isBusy}>
        Run
      </button>
    );
  }
  return (
    <>
      <button type="button" onClick={() => void send("steer")}>
        Send now
      </button>
      <button type="submit">Queue</button>
      <button type="button" class="danger" onClick={() => void client.sessions.interrupt(thread.id)}>
        Stop
      </button>
    </>
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

interface RequestPlace {
  fork: string | undefined;
  ifBusy: "queue" | "interrupt" | "steer" | undefined;
}

/** A session is continued only from the head that this person saw. A new session gets what was chosen for it. */
function requestOf(thread: Thread | null, { fork, ifBusy }: RequestPlace): ExecuteRequest {
  const session = thread?.session.value ?? null;
  const scope = paths.value.split(/[\s,]+/).filter((path) => path !== "");
  const common: ExecuteRequest = {
    mode: mode.value,
    ...(effort.value !== "" && { settings: { reasoningEffort: effort.value } }),
    ...(scope.length > 0 && { ragScope: { paths: scope } }),
  };
  if (fork !== undefined) return { ...common, ...chosenOf(forkChoice.value), fork: { turnId: fork } };
  if (session === null) {
    return { ...common, ...placeOf(newRepos.value), ...chosenOf(newChoice.value) };
  }
  if (ifBusy !== undefined) return { ...common, sessionId: session.id, ifBusy };
  const { id, headTurnId } = session;
  return {
    ...common,
    ...(headTurnId === null ? { sessionId: id } : { responseContinuationId: headTurnId, sessionId: id }),
  };
}
