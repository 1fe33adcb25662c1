/** What a workspace remembers for its sessions (U10, M3): facts to read, to add, to correct and to forget. */
import { useSignal } from "@preact/signals";
import type { WireFact, WireForgotten } from "../../src/client/client.ts";
import { client, mayWrite } from "../api/connection.ts";
import { plural } from "../parts/numbers.ts";
import { shownText } from "../parts/shown-text.ts";
import { Time } from "../parts/time.tsx";
import { pathTo } from "../routes.ts";
import { PartFrame, SureButton, usePart } from "./part.tsx";

export function WorkspaceMemory({ id }: { id: string }) {
  const { list, fault, act } = usePart(`memory ${id}`, () => client.memory.list(id));
  const forgotten = useSignal<WireForgotten | null>(null);
  return (
    <section aria-labelledby="memory">
      <h3 id="memory">Memory</h3>
      <PartFrame list={list} fault={fault}>
        {({ facts, faults }) => (
          <>
            {forgotten.value !== null && <WasForgotten forgotten={forgotten.value} />}
            {facts.length === 0 && <p class="dim">It remembers nothing.</p>}
            <ul class="fact-list">
              {facts.map((fact) => (
                <FactEntry
                  key={fact.id}
                  fact={fact}
                  change={(text) => act(() => client.memory.change(id, fact.id, { text, expectedHash: fact.hash }))}
                  forget={() => void act(async () => (forgotten.value = await client.memory.forget(id, fact.id)))}
                />
              ))}
            </ul>
            {faults.map(({ name, reason }) => (
              <p key={name} class="notice wait">
                Not used: {shownText(name)}: {shownText(reason)}
              </p>
            ))}
            {mayWrite.value && (
              <FactForm
                label="A fact, in words that can be understood without a conversation"
                button="Remember it"
                text=""
                save={(text) => act(() => client.memory.add(id, { text }))}
              />
            )}
          </>
        )}
      </PartFrame>
    </section>
  );
}

interface FactEntryProps {
  fact: WireFact;
  change: (text: string) => Promise<boolean>;
  forget: () => void;
}

function FactEntry({ fact: { text, createdAt, source }, change, forget }: FactEntryProps) {
  const isEdited = useSignal(false);
  if (isEdited.value) {
    return (
      <li>
        <FactForm
          label="The fact"
          button="Save"
          text={text}
          save={async (changed) => {
            if (!(await change(changed))) return false;
            isEdited.value = false;
            return true;
          }}
          cancel={() => (isEdited.value = false)}
        />
      </li>
    );
  }
  return (
    <li>
      <p>{shownText(text)}</p>
      <p class="row-of small-text dim">
        {createdAt !== null && <Time at={createdAt} />}
        {source === null ? (
          "from a person"
        ) : (
          <a href={pathTo("turn", { session: source.sessionId, turn: source.turnId })}>from a turn</a>
        )}
        {mayWrite.value && (
          <>
            <button type="button" class="small" onClick={() => (isEdited.value = true)}>
              Correct
            </button>
            <SureButton label="Forget" run={forget} />
          </>
        )}
      </p>
    </li>
  );
}

interface FactFormProps {
  label: string;
  button: string;
  text: string;
  save: (text: string) => Promise<boolean>;
  cancel?: () => void;
}

function FactForm({ label, button, text, save, cancel }: FactFormProps) {
  const typed = useSignal(text);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void save(typed.value).then((isSaved) => isSaved && (typed.value = ""));
      }}
    >
      <label>
        {label}
        <textarea
          required
          rows={2}
          value={typed.value}
          onInput={({ currentTarget }) => (typed.value = currentTarget.value)}
        />
      </label>
      <p class="row-of">
        <button type="submit">{button}</button>
        {cancel !== undefined && (
          <button type="button" class="quiet" onClick={cancel}>
            Cancel
          </button>
        )}
      </p>
    </form>
  );
}

/** The turns that were given the fact keep it until their session is purged. */
function WasForgotten({ forgotten: { turns, turnsOfOthers } }: { forgotten: WireForgotten }) {
  const others = turnsOfOthers === 0 ? "" : ` ${plural(turnsOfOthers, "turn")} of other people had it too.`;
  return (
    <div class="notice" role="status">
      <p>
        Forgotten: no later request has it.
        {turns.length === 0
          ? " No turn that you may see was given it."
          : " These turns keep it until their session is purged:"}
        {others}
      </p>
      <ul>
        {turns.map(({ sessionId, turnId, sequence, isSource }) => (
          <li key={turnId}>
            <a href={pathTo("turn", { session: sessionId, turn: turnId })}>
              turn {sequence} of session {sessionId.slice(-8)}
            </a>
            {isSource && " (it came from there)"}
          </li>
        ))}
      </ul>
    </div>
  );
}
