/** One context: its content as JSON, which admins edit, its versions, and what changed between two of them (U10). */
import { useSignal } from "@preact/signals";
import type { WireContext, WireContextVersion } from "../../src/client/client.ts";
import { client, codeOf, isAdmin } from "../api/connection.ts";
import { Diff } from "../parts/diff.tsx";
import { Time } from "../parts/time.tsx";
import { pathTo } from "../routes.ts";
import { PartFrame, SureButton, usePart } from "./part.tsx";

interface Read {
  current: WireContext;
  versions: WireContextVersion[];
}

type Kind = WireContext["kind"];

async function read(kind: Kind, id: string): Promise<Read> {
  const current = await client.contexts.get(kind, id);
  // A context of the configuration has no versions.
  const versions = await client.contexts.versions(kind, id, { limit: 100 }).catch((error: unknown) => {
    if (codeOf(error) === "not_found") return [];
    throw error;
  });
  return { current, versions };
}

export function ContextEditor({ kind, id }: { kind: string; id: string }) {
  const of = kind === "agent" ? "agent" : "conversation";
  const { list, fault, act } = usePart(`${of} ${id}`, () => read(of, id));
  return (
    <>
      <p>
        <a href={pathTo("adminPart", { part: "contexts" })}>← Contexts</a>
      </p>
      <h2>
        {of} context {id}
      </h2>
      <PartFrame list={list} fault={fault}>
        {({ current, versions }) => (
          <>
            <Content key={String(current.version)} context={current} act={act} />
            <Versions of={of} id={id} versions={versions} />
          </>
        )}
      </PartFrame>
    </>
  );
}

function textOf(content: WireContext["content"]): string {
  return JSON.stringify(content ?? {}, null, 2);
}

function Content({
  context,
  act,
}: {
  context: WireContext;
  act: (action: () => Promise<unknown>) => Promise<boolean>;
}) {
  const { kind, id, version, content } = context;
  const text = useSignal(textOf(content));
  const expected = version === null ? {} : { expectedVersion: version };
  if (!isAdmin.value) return <pre class="output">{text.value}</pre>;
  return (
    <form
      class="editor"
      onSubmit={(event) => {
        event.preventDefault();
        void act(async () => client.contexts.put(kind, id, { content: JSON.parse(text.value), ...expected }));
      }}
    >
      <label>
        {version === null ? "From the configuration. Saving makes version 1 of the org." : `Version ${version}`}
        <textarea
          value={text.value}
          spellcheck={false}
          onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        />
      </label>
      <p class="row-of">
        <button type="submit" class="primary" disabled={text.value === textOf(content)}>
          Save a new version
        </button>
        {version !== null && (
          <SureButton
            label="Retire the org's own"
            run={() => void act(() => client.contexts.retire(kind, id, expected))}
          />
        )}
      </p>
    </form>
  );
}

function Versions({ of, id, versions }: { of: Kind; id: string; versions: readonly WireContextVersion[] }) {
  const shown = useSignal<{ version: number; before: string; after: string } | null>(null);
  const compare = async (version: number): Promise<void> => {
    const contentOf = async (one: number): Promise<string> =>
      one < 1 ? "" : textOf((await client.contexts.get(of, id, { version: one })).content);
    const [before = "", after = ""] = await Promise.all([contentOf(version - 1), contentOf(version)]);
    shown.value = { version, before, after };
  };
  if (versions.length === 0) return null;
  return (
    <>
      <h3>Versions</h3>
      <ul>
        {versions.map(({ version, createdAt, isRetired }) => (
          <li key={version}>
            Version {version}
            {isRetired && " (retired)"}, <Time at={createdAt} />{" "}
            <button type="button" class="quiet small" onClick={() => void compare(version)}>
              What changed
            </button>
          </li>
        ))}
      </ul>
      {shown.value !== null && (
        <Diff path={`${id}, version ${shown.value.version}`} oldText={shown.value.before} newText={shown.value.after} />
      )}
    </>
  );
}
