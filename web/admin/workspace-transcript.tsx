/** The conversation of a workspace as a file, which a person reads and corrects (U10, W5). What was typed is kept until it is saved. */
import { useRef, useState } from "preact/hooks";
import { AptoveApiError, type WireTranscript } from "../../src/client/client.ts";
import { client, mayWrite, wordsOf } from "../api/connection.ts";
import { useLoaded, type Loaded } from "../api/loading.ts";
import { Diff } from "../parts/diff.tsx";
import { shownText } from "../parts/shown-text.ts";
import { draftOf } from "../thread/drafts.ts";
import { PartFrame, SureButton } from "./part.tsx";

interface TranscriptProps {
  id: string;
  /** Called after the file has changed. */
  hasChanged: () => void;
}

export function WorkspaceTranscript({ id, hasChanged }: TranscriptProps) {
  const list = useLoaded(`transcript ${id}`, () => client.workspaces.transcript(id));
  return (
    <section aria-labelledby="transcript">
      <h3 id="transcript">session.md</h3>
      <PartFrame list={list} fault="">
        {(file) =>
          file.text === null || !mayWrite.value ? (
            <ReadOnly file={file} />
          ) : (
            <Editor id={id} file={{ ...file, text: file.text }} list={list} hasChanged={hasChanged} />
          )
        }
      </PartFrame>
    </section>
  );
}

function ReadOnly({ file: { text, fault } }: { file: WireTranscript }) {
  return (
    <>
      {fault !== null && <p class="notice wait">The file cannot be shown as a conversation: {fault.reason}.</p>}
      {text === "" && <p class="dim">The file is empty: the next session begins without a history.</p>}
      {text !== null && text !== "" && (
        <pre class="output" tabIndex={0}>
          {text}
        </pre>
      )}
    </>
  );
}

/** What the person made of the file, with the hash of the content that it was made from. */
interface Correction {
  text: string;
  madeFrom: string;
}

function useCorrection(id: string, file: Correction) {
  const { text: draft } = draftOf(`transcript.${id}`);
  const at = draft.value.indexOf("\n");
  const correction = at === -1 ? file : { madeFrom: draft.value.slice(0, at), text: draft.value.slice(at + 1) };
  return {
    correction,
    isChanged: correction.text !== file.text,
    isOutdated: correction.text !== file.text && correction.madeFrom !== file.madeFrom,
    set: ({ text, madeFrom }: Correction) => (draft.value = text === file.text ? "" : `${madeFrom}\n${text}`),
    drop: () => (draft.value = ""),
  };
}

interface EditorProps extends TranscriptProps {
  file: WireTranscript & { text: string };
  list: Loaded<WireTranscript>;
}

function Editor({ id, file, list, hasChanged }: EditorProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [fault, setFault] = useState("");
  const [isSaved, setSaved] = useState(false);
  const madeFrom = file.hash ?? "";
  const { correction, isChanged, isOutdated, set, drop } = useCorrection(id, { text: file.text, madeFrom });
  const save = async (expectedHash: string): Promise<void> => {
    setFault("");
    try {
      list.value.value = await client.workspaces.correctTranscript(id, { text: correction.text, expectedHash });
      drop();
      setSaved(true);
      hasChanged();
    } catch (error) {
      // The new content of the file is shown beside what the person made of the former one.
      if (error instanceof AptoveApiError && error.code === "transcript_changed") return await list.load();
      setFault(wordsOf(error));
      if (error instanceof AptoveApiError) selectLine(field.current, error.facts["line"]);
    }
  };
  return (
    <form
      class="editor"
      onSubmit={(event) => {
        event.preventDefault();
        void save(correction.madeFrom);
      }}
    >
      <Notices fault={fault} file={file} isSaved={isSaved && !isChanged} />
      <label>
        The next session of this workspace begins with this text. A session that is open goes on with its own history.
        <textarea
          ref={field}
          value={correction.text}
          spellcheck={false}
          onInput={({ currentTarget: { value: text } }) => set({ text, madeFrom: correction.madeFrom })}
        />
      </label>
      {isOutdated && <Conflict ours={correction.text} theirs={file.text} overwrite={() => void save(madeFrom)} />}
      <p class="row-of">
        <button type="submit" class="primary" disabled={!isChanged || isOutdated}>
          Save
        </button>
        {isChanged && <SureButton label={isOutdated ? "Take the file's text" : "Discard my changes"} run={drop} />}
      </p>
    </form>
  );
}

function Notices({ fault, file, isSaved }: { fault: string; file: WireTranscript; isSaved: boolean }) {
  return (
    <>
      <p role="status" class={isSaved ? "notice" : "spoken"}>
        {isSaved ? "Saved. The next session begins with it." : ""}
      </p>
      {fault !== "" && (
        <p class="notice fail" role="alert">
          {fault}
          <br />
          Your text is still below.
        </p>
      )}
      {file.fault !== null && (
        <p class="notice wait">
          No session can begin with the file as it is: {file.fault.reason}. Correct it, or it is put aside and the next
          session begins empty.
        </p>
      )}
    </>
  );
}

function Conflict({ ours, theirs, overwrite }: { ours: string; theirs: string; overwrite: () => void }) {
  return (
    <div class="notice wait" role="alert">
      <p>
        The file was changed since you read it. Your text is above, and nothing of it is lost. From the file to your
        text:
      </p>
      <Diff path={shownText("session.md")} oldText={theirs} newText={ours} />
      <SureButton label="Save mine over it" run={overwrite} />
    </div>
  );
}

/** Shows the person where the fault is. */
function selectLine(field: HTMLTextAreaElement | null, line: unknown): void {
  if (field === null || typeof line !== "number") return;
  const lines = field.value.split("\n");
  const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  field.focus();
  field.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
}
