/** "Run again with …": another model, context, mode or effort for one more run, and a file that the turn left out (U5, U6). */
import { useComputed, useSignal, type Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ExecuteRequest } from "../../src/client/client.ts";
import { wordsOf } from "../api/connection.ts";
import { shownText } from "../parts/shown-text.ts";
import { readAttachment, type Attachment } from "./attachments.ts";
import { Picker } from "./choices-row.tsx";
import { conversations, efforts, loadChoices, modelLabel, models, modesOf, type Effort } from "./choices.ts";
import { Estimate } from "./estimate.tsx";
import { runAgainAsked, type RunAgainAsked } from "./run-again-asked.ts";
import { isForkedByRerun, startAgain } from "./turn-actions.ts";

interface Chosen {
  model: string;
  context: string;
  mode: string;
  effort: Effort;
  /** `code`: what the index has of the left out file. `file`: the file as this device has it. */
  send: "code" | "file";
  attached: Attachment | null;
}

export function RunAgain() {
  const asked = runAgainAsked.value;
  return asked === null ? null : <RunAgainDialog key={asked.turn.id} asked={asked} />;
}

function RunAgainDialog({ asked }: { asked: RunAgainAsked }) {
  const { turn, file } = asked;
  const dialog = useRef<HTMLDialogElement>(null);
  const fault = useSignal("");
  const isBusy = useSignal(false);
  const chosen = useSignal<Chosen>({
    model: "",
    context: "",
    mode: "",
    effort: "",
    attached: null,
    send: file?.isInRepository === true ? "code" : "file",
  });
  const request = useComputed(() => requestOf(asked, chosen.value));
  useEffect(() => {
    void loadChoices();
    dialog.current?.showModal();
    // A key opens this. If it was a letter of a text, the rest of the text must not choose anything.
    dialog.current?.focus();
  }, []);
  const isIncomplete = file !== null && chosen.value.send === "file" && chosen.value.attached === null;
  const run = async (): Promise<void> => {
    if (isIncomplete || isBusy.value) return;
    isBusy.value = true;
    fault.value = "";
    try {
      await startAgain(asked.thread, request.value);
      dialog.current?.close();
    } catch (error) {
      fault.value = wordsOf(error);
    }
    isBusy.value = false;
  };
  return (
    <dialog
      class="ask"
      ref={dialog}
      tabIndex={-1}
      aria-labelledby="run-again"
      onClose={() => (runAgainAsked.value = null)}
      onKeyDown={({ key, ctrlKey, metaKey }) => {
        if (key === "Enter" && (ctrlKey || metaKey)) void run();
      }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <h2 id="run-again">Run turn {turn.sequence} again</h2>
        <p class="dim">{whatHappens(asked)}</p>
        {file !== null && <FileChoice file={file} chosen={chosen} />}
        <TurnChoices asked={asked} chosen={chosen} />
        <Estimate request={isIncomplete ? null : request.value} />
        {fault.value !== "" && (
          <p class="notice fail" role="alert">
            {fault.value}
          </p>
        )}
        <p class="row-of end">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={isIncomplete || isBusy.value}>
            Run again <kbd>Ctrl Enter</kbd>
          </button>
        </p>
      </form>
    </dialog>
  );
}

function whatHappens({ thread, turn }: RunAgainAsked): string {
  const place = isForkedByRerun(thread, turn)
    ? "The new one is a fork, a session of its own."
    : "The new one becomes the head.";
  return `The same instruction runs once more beside it, and the old turn stays as it is. ${place}`;
}

function TurnChoices({ asked: { thread, turn }, chosen }: { asked: RunAgainAsked; chosen: Signal<Chosen> }) {
  const { model, context, mode, effort } = chosen.value;
  const choose = (more: Partial<Chosen>): void => void (chosen.value = { ...chosen.value, ...more });
  const contextId = context === "" ? (thread.session.value?.conversationContextId ?? null) : context;
  const before = { value: "", label: "as before" };
  return (
    <div class="ask-choices">
      <Picker
        label="Model"
        isNamed
        value={model}
        options={[
          ["", `${before.label}: ${turn.provider}/${turn.model}`],
          ...(models.value ?? []).map((one) => [`${one.provider}/${one.model}`, modelLabel(one)]),
        ]}
        choose={(value) => choose({ model: value })}
      />
      <Picker
        label="Context"
        isNamed
        value={context}
        options={[["", before.label], ...conversations.value.map(({ id, content }) => [id, content?.name ?? id])]}
        choose={(value) => choose({ context: value })}
      />
      <Picker
        label="Mode"
        isNamed
        value={mode}
        options={[["", `${before.label}: ${turn.mode}`], ...modesOf(contextId).map((one) => [one, one])]}
        choose={(value) => choose({ mode: value })}
      />
      <Picker
        label="Effort"
        isNamed
        value={effort}
        options={efforts.map((one) => [one, one === "" ? before.label : one])}
        choose={(value) => choose({ effort: value as Effort })}
      />
    </div>
  );
}

function FileChoice({ file, chosen }: { file: NonNullable<RunAgainAsked["file"]>; chosen: Signal<Chosen> }) {
  const { send } = chosen.value;
  const choose = (more: Partial<Chosen>): void => void (chosen.value = { ...chosen.value, ...more });
  return (
    <fieldset class="ask-file">
      <legend>
        With <bdi class="path">{shownText(file.path)}</bdi>
      </legend>
      {file.isInRepository && (
        <label class="check">
          <input type="radio" name="send" checked={send === "code"} onChange={() => choose({ send: "code" })} />
          What the index has of it. Nothing else is searched in this run.
        </label>
      )}
      <label class="check">
        <input type="radio" name="send" checked={send === "file"} onChange={() => choose({ send: "file" })} />
        {file.isTooLarge
          ? "The file from this device. It is larger than 100 KB, so it is attached: the parts that matter are sent."
          : "The whole file from this device. It comes before all others."}
      </label>
      {send === "file" && (
        <input
          type="file"
          aria-label={`The file ${file.path}`}
          onChange={async ({ currentTarget }) => {
            const [one] = currentTarget.files ?? [];
            if (one !== undefined) choose({ attached: await readAttachment(one) });
          }}
        />
      )}
    </fieldset>
  );
}

function requestOf({ turn, file }: RunAgainAsked, chosen: Chosen): ExecuteRequest {
  const { model, context, mode, effort } = chosen;
  return {
    rerun: { turnId: turn.id },
    ...(model !== "" && { model }),
    ...(context !== "" && { conversationContextId: context }),
    ...(mode !== "" && { mode }),
    ...(effort !== "" && { settings: { reasoningEffort: effort } }),
    ...(file !== null && fileOf(file, chosen)),
  };
}

function fileOf(
  { path, isTooLarge }: NonNullable<RunAgainAsked["file"]>,
  { send, attached }: Chosen,
): Pick<ExecuteRequest, "ragScope" | "activeFiles" | "input"> {
  if (send === "code") return { ragScope: { paths: [path] } };
  if (attached === null) return {};
  const { data: contentBase64 } = attached;
  if (isTooLarge) return { input: [{ type: "file", path, contentBase64, mode: "inline" }] };
  return { activeFiles: [{ path, contentBase64, isTouched: false }] };
}
