/** The pickers below the field: mode, model, effort, context and scope (U4). */
import { useEffect } from "preact/hooks";
import { client, wordsOf } from "../api/connection.ts";
import type { Thread } from "../api/thread.ts";
import { actionFault } from "./turn-actions.ts";
import {
  conversations,
  effort,
  efforts,
  indexes,
  loadChoices,
  mode,
  modelLabel,
  models,
  modesOf,
  newContext,
  newModel,
  newRepos,
  paths,
  type Effort,
} from "./choices.ts";

export function Choices({ thread }: { thread: Thread | null }) {
  useEffect(() => void loadChoices(), []);
  const session = thread?.session.value ?? null;
  const contextId = session?.conversationContextId ?? newContext.value;
  return (
    <div class="choices">
      <Picker
        label="Mode"
        value={mode.value}
        options={modesOf(contextId).map((id) => [id, id])}
        choose={(id) => (mode.value = id)}
      />
      <ModelPicker thread={thread} />
      <details class="more-choices">
        <summary title="Effort, context and scope">More</summary>
        <div class="filters-box up">
          <Picker
            label="Effort"
            value={effort.value}
            options={efforts.map((one) => [one, one === "" ? "effort: as set" : one])}
            choose={(one) => (effort.value = one as Effort)}
          />
          <ContextPicker thread={thread} />
          {session === null && <Repositories chosen={newRepos.value} choose={(repos) => (newRepos.value = repos)} />}
          <label>
            Search only below
            <input
              placeholder="src/ docs/"
              value={paths.value}
              onChange={({ currentTarget }) => (paths.value = currentTarget.value)}
            />
          </label>
        </div>
      </details>
    </div>
  );
}

interface PickerProps {
  label: string;
  value: string;
  options: readonly (readonly [value: string, label: string])[] | string[][];
  choose(value: string): void;
  /** True if the label is shown. Otherwise the options say what they are. */
  isNamed?: boolean;
}

export function Picker({ label, value, options, choose, isNamed = false }: PickerProps) {
  return (
    <label class={isNamed ? "" : "picker"}>
      <span class={isNamed ? "" : "spoken"}>{label}</span>
      <select value={value} title={label} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        {options.map(([id = "", shown = ""]) => (
          <option key={id} value={id}>
            {shown}
          </option>
        ))}
      </select>
    </label>
  );
}

interface RepositoriesProps {
  chosen: readonly string[];
  choose(repos: readonly string[]): void;
  isNamed?: boolean;
}

/** A picker for each repository of a new session, in order, and one that adds another (M7). */
export function Repositories({ chosen, choose, isNamed = false }: RepositoriesProps) {
  const all = (indexes.value ?? []).map(({ repo }) => repo);
  const pickers = all.length > chosen.length ? [...chosen, ""] : chosen;
  return (
    <>
      {pickers.map((value, at) => (
        <Picker
          key={at}
          isNamed={isNamed}
          label={at === 0 ? "Repository" : `Repository ${at + 1}`}
          value={value}
          options={[
            ["", at > 0 ? "no other" : "no code"],
            ...all.filter((repo) => repo === value || !chosen.includes(repo)).map((repo) => [repo, repo]),
          ]}
          choose={(repo) => choose(chosen.toSpliced(at, 1, ...(repo === "" ? [] : [repo])))}
        />
      ))}
    </>
  );
}

/** Changes what the session has for its later turns (S9). */
function chooseForSession(thread: Thread, patch: Parameters<typeof client.sessions.update>[1]): void {
  void client.sessions.update(thread.id, patch).then(
    (session) => (thread.session.value = session),
    (error: unknown) => (actionFault.value = wordsOf(error)),
  );
}

function ModelPicker({ thread }: { thread: Thread | null }) {
  const session = thread?.session.value ?? null;
  const known = (models.value ?? []).map((one): [string, string] => [`${one.provider}/${one.model}`, modelLabel(one)]);
  const value = (session === null ? newModel.value : session.model) ?? "";
  const full = known.find(([id]) => id === value || id.endsWith(`/${value}`))?.[0] ?? value;
  if (known.length === 0) return null;
  const unknown: [string, string][] = full !== "" && !known.some(([id]) => id === full) ? [[full, full]] : [];
  return (
    <Picker
      label="Model"
      value={full}
      options={[["", "model: as set"], ...unknown, ...known]}
      choose={(id) => {
        const model = id === "" ? null : id;
        if (thread === null) newModel.value = model;
        else chooseForSession(thread, { model });
      }}
    />
  );
}

function ContextPicker({ thread }: { thread: Thread | null }) {
  const all = conversations.value.map(({ id, content }): [string, string] => [id, content?.name ?? id]);
  if (all.length < 2) return null;
  return (
    <Picker
      label="Context"
      value={thread?.session.value?.conversationContextId ?? newContext.value ?? "default"}
      options={all}
      choose={(conversationContextId) => {
        if (thread === null) newContext.value = conversationContextId;
        else chooseForSession(thread, { conversationContextId });
      }}
    />
  );
}
