/** One context: its content as JSON, which admins edit, and its versions (U10). */
import { useSignal, type Signal } from "@preact/signals";
import type { WireContext, WireContextVersion } from "../../src/client/client.ts";
import { client, codeOf, isAdmin } from "../api/connection.ts";
import { pathTo } from "../routes.ts";
import { ContextDifferences } from "./context-differences.tsx";
import { Versions } from "./context-versions.tsx";
import { PartFrame, SureButton, usePart } from "./part.tsx";

interface Read {
  current: WireContext;
  versions: WireContextVersion[];
  /** The names of the org's users, by their ids. */
  names: ReadonlyMap<string, string>;
}

/** What the person has typed, and the version that it is based on. Null: nothing that is not saved. */
interface Draft {
  text: string;
  basedOn: number | null;
}

type Kind = WireContext["kind"];

async function read(kind: Kind, id: string): Promise<Read> {
  const [current, versions, { users }] = await Promise.all([
    client.contexts.get(kind, id),
    client.contexts.versions(kind, id, { limit: 100 }),
    client.people.list({ limit: 200 }),
  ]);
  return { current, versions, names: new Map(users.map((user) => [user.id, user.name])) };
}

export function ContextEditor({ kind, id }: { kind: string; id: string }) {
  const of = kind === "agent" ? "agent" : "conversation";
  const { list, fault, act } = usePart(`${of} ${id}`, () => read(of, id));
  const draft = useSignal<Draft | null>(null);
  const hasConflict = useSignal(false);
  const isSaving = useSignal(false);
  /** Returns the version that was made. Null: another admin was first. */
  const put = async (content: Record<string, unknown>, basedOn: number | null): Promise<number | null> => {
    hasConflict.value = false;
    const expected = basedOn === null ? {} : { expectedVersion: basedOn };
    try {
      return (await client.contexts.put(of, id, { content, ...expected })).version;
    } catch (error) {
      // What this one wrote stays, beside what is there now.
      if (codeOf(error) !== "context_changed") throw error;
      hasConflict.value = draft.value !== null;
      if (!hasConflict.value) throw error;
      return null;
    }
  };
  const save = async ({ text }: Draft, basedOn: number | null): Promise<void> => {
    isSaving.value = true;
    let made: number | null = null;
    const isRead = await act(async () => {
      made = await put(contentIn(text), basedOn);
      // What is typed from now on is based on the new version.
      if (made !== null && draft.value !== null) draft.value = { ...draft.value, basedOn: made };
    });
    // The field shows what was sent until the new version is read: it never shows the former text again.
    if (isRead && made !== null && draft.value?.text === text) draft.value = null;
    isSaving.value = false;
  };
  const goBack = (version: number, newest: number | null): void =>
    void act(async () => {
      const { content } = await client.contexts.get(of, id, { version });
      if ((await put({ ...content }, newest)) !== null) draft.value = null;
    });
  return (
    <>
      <p>
        <a href={pathTo("adminPart", { part: "contexts" })}>← Contexts</a>
      </p>
      <h2>
        {of} context {id}
      </h2>
      <PartFrame list={list} fault={fault}>
        {({ current, versions, names }) => (
          <>
            {hasConflict.value && draft.value !== null && (
              <Conflict
                theirs={current}
                by={names.get(current.createdBy ?? "") ?? "another admin"}
                mine={draft.value}
                takeTheirs={() => {
                  draft.value = null;
                  hasConflict.value = false;
                }}
              />
            )}
            <Content
              context={current}
              draft={draft}
              isSaving={isSaving.value}
              save={(sent) => void save(sent, hasConflict.value ? current.version : sent.basedOn)}
              retire={(expected) => void act(() => client.contexts.retire(of, id, expected))}
            />
            <Versions
              of={current}
              versions={versions}
              names={names}
              goBack={(version) => goBack(version, current.version)}
            />
          </>
        )}
      </PartFrame>
    </>
  );
}

/** Throws what is wrong with the text. */
function contentIn(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    throw new Error(`This is not JSON, so nothing was saved: ${error instanceof Error ? error.message : ""}`, {
      cause: error,
    });
  }
}

function textOf(content: WireContext["content"]): string {
  return JSON.stringify(content ?? {}, null, 2);
}

interface ContentProps {
  context: WireContext;
  draft: Signal<Draft | null>;
  isSaving: boolean;
  save(draft: Draft): void;
  retire(expected: { expectedVersion?: number }): void;
}

function Content({ context: { version, content }, draft, isSaving, save, retire }: ContentProps) {
  const text = draft.value?.text ?? textOf(content);
  if (!isAdmin.value) return <pre class="output">{text}</pre>;
  return (
    <form
      class="editor"
      onSubmit={(event) => {
        event.preventDefault();
        if (draft.value !== null) save(draft.value);
      }}
    >
      <label>
        {version === null ? "From the configuration. Saving makes a version of the org." : `Version ${version}`}
        <textarea
          value={text}
          spellcheck={false}
          onInput={({ currentTarget: { value } }) =>
            (draft.value = { text: value, basedOn: draft.value === null ? version : draft.value.basedOn })
          }
        />
      </label>
      <p class="row-of">
        <button type="submit" class="primary" disabled={isSaving || text === textOf(content)}>
          Save a new version
        </button>
        {version !== null && (
          <SureButton label="Stop using the org's versions" run={() => retire({ expectedVersion: version })} />
        )}
      </p>
      {version !== null && (
        <p class="dim">
          Without the org's versions the context of the configuration with this id counts again. If there is none, turns
          that name it are refused. Earlier versions stay readable.
        </p>
      )}
    </form>
  );
}

/** Returns null for what is not JSON. What was sent was JSON; what is typed since then may not be. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

interface ConflictProps {
  theirs: WireContext;
  /** Who made that version. */
  by: string;
  mine: Draft;
  takeTheirs(): void;
}

function Conflict({ theirs, by, mine, takeTheirs }: ConflictProps) {
  const content = jsonIn(mine.text);
  return (
    <section class="notice wait" aria-label="Conflict">
      <p role="alert">
        {theirs.version === null ? "The org stopped using its versions" : `Version ${theirs.version} was saved`}{" "}
        meanwhile, by {by}. Nothing of yours was saved, and nothing is lost: it is in the field below. Saving now makes
        the next version.
      </p>
      {content !== null && <ContextDifferences before={theirs.content} after={content} names={["theirs", "yours"]} />}
      <button type="button" onClick={takeTheirs}>
        Take theirs
      </button>
    </section>
  );
}
