/** The pickers below the field: mode, model, effort, context and scope (U4). */
import type { Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { client, wordsOf } from "../api/connection.ts";
import type { Thread } from "../api/thread.ts";
import { shownText } from "../parts/shown-text.ts";
import { actionFault } from "./turn-actions.ts";
import {
  conversations,
  effort,
  efforts,
  forkChoice,
  indexes,
  loadChoices,
  mode,
  modelLabel,
  models,
  modesOf,
  newChoice,
  newRepos,
  paths,
  repositoriesFor,
  searchesCode,
  type Effort,
  type SessionChoice,
} from "./choices.ts";

/** What the next turn is for: a new session, a session, or a fork of it that is about to begin. */
interface ForProps {
  thread: Thread | null;
  isFork: boolean;
}

export function Choices({ thread, isFork }: ForProps) {
  useEffect(() => void loadChoices(), []);
  const contextId = contextFor({ thread, isFork });
  return (
    <div class="choices">
      <Picker
        label="Mode"
        value={mode.value}
        options={modesOf(contextId).map((id) => [id, id])}
        choose={(id) => (mode.value = id)}
      />
      <ModelPicker thread={thread} isFork={isFork} />
      <details class="more-choices">
        <summary title="Effort, context and scope">More</summary>
        <div class="filters-box up">
          <Picker
            label="Effort"
            value={effort.value}
            options={efforts.map((one) => [one, one === "" ? "default effort" : one])}
            choose={(one) => (effort.value = one as Effort)}
          />
          <ContextPicker thread={thread} isFork={isFork} />
          {thread === null && <Repositories chosen={newRepos.value} choose={(repos) => (newRepos.value = repos)} />}
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

/** Says which code is searched for the next question, before it is asked. It is empty if there is none to search. */
export function SearchedCode({ thread, isFork }: ForProps) {
  const session = thread?.session.value ?? null;
  const repos = repositoriesFor(thread);
  const isKnown = repos.length > 0 || ((indexes.value ?? []).length > 0 && (thread === null || session !== null));
  const isSearched = repos.length > 0 && searchesCode(contextFor({ thread, isFork }));
  const words = `${repos.join(", ")}${paths.value.trim() === "" ? "" : ` below ${paths.value.trim()}`}`;
  return (
    <p class="dim small-text searched" id="searched" title={isSearched ? words : undefined}>
      {isKnown && "Searches "}
      {isKnown && (isSearched ? <bdi>{shownText(words)}</bdi> : "no code")}
    </p>
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

/** Returns what is chosen for a session that does not exist yet. Null: the session exists and has it itself (S9). */
function choiceFor({ thread, isFork }: ForProps): Signal<SessionChoice> | null {
  return isFork ? forkChoice : thread === null ? newChoice : null;
}

/** Returns the context of the next turn. Null: the default one. */
function contextFor({ thread, isFork }: ForProps): string | null {
  const session = thread?.session.value ?? null;
  return choiceFor({ thread, isFork })?.value.conversationContextId ?? session?.conversationContextId ?? null;
}

function take({ thread, isFork }: ForProps, chosen: Partial<SessionChoice>): void {
  const choice = choiceFor({ thread, isFork });
  if (choice !== null) choice.value = { ...choice.value, ...chosen };
  else if (thread !== null) {
    // A session always has a context.
    const { conversationContextId: context, ...others } = chosen;
    const patch = context == null ? others : { ...others, conversationContextId: context };
    void client.sessions.update(thread.id, patch).then(
      (session) => (thread.session.value = session),
      (error: unknown) => (actionFault.value = wordsOf(error)),
    );
  }
}

function ModelPicker({ thread, isFork }: ForProps) {
  const choice = choiceFor({ thread, isFork })?.value ?? thread?.session.value;
  const known = (models.value ?? []).map((one): [string, string] => [`${one.provider}/${one.model}`, modelLabel(one)]);
  const value = choice?.model ?? "";
  const full = known.find(([id]) => id === value || id.endsWith(`/${value}`))?.[0] ?? value;
  if (known.length === 0) return null;
  const unknown: [string, string][] = full !== "" && !known.some(([id]) => id === full) ? [[full, full]] : [];
  return (
    <Picker
      label="Model"
      value={full}
      options={[["", isFork ? "same model" : "default model"], ...unknown, ...known]}
      choose={(id) => take({ thread, isFork }, { model: id === "" ? null : id })}
    />
  );
}

function ContextPicker({ thread, isFork }: ForProps) {
  const all = conversations.value.map(({ id, content }): [string, string] => [id, content?.name ?? id]);
  if (all.length < 2) return null;
  const choice = choiceFor({ thread, isFork })?.value ?? thread?.session.value;
  return (
    <Picker
      label="Context"
      value={choice?.conversationContextId ?? (isFork ? "" : "default")}
      options={isFork ? [["", "same context"], ...all] : all}
      choose={(id) => take({ thread, isFork }, { conversationContextId: id === "" ? null : id })}
    />
  );
}
