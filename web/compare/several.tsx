/** "Ask several" (U7): one instruction to several models, contexts, repositories or workspaces at once. */
import { useComputed, useSignal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { client, mayWrite, wordsOf } from "../api/connection.ts";
import { newest } from "../api/live.ts";
import { Empty } from "../parts/states.tsx";
import { route } from "../routes.ts";
import { Picker, Repositories } from "../thread/choices-row.tsx";
import { conversations, indexes, loadChoices, modelLabel, models, newRepos } from "../thread/choices.ts";
import { Estimate } from "../thread/estimate.tsx";
import { askAll, asked } from "./asked.ts";
import { askeesMax, labelsOf, requestOf, type Askee, type Place } from "./askees.ts";
import { SeveralAnswers } from "./several-answers.tsx";

export function Several() {
  const { query } = route.value;
  const [from, again] = [query.get("from"), query.get("again")];
  const place: Place =
    from !== null
      ? { kind: "from", turnId: from }
      : again !== null
        ? { kind: "again", turnId: again }
        : { kind: "new" };
  const name = query.toString();
  useEffect(() => void loadChoices(), []);
  const isLoading = models.value === null || indexes.value === null;
  return (
    <main class="view several" id="view" tabIndex={-1}>
      <h1>Ask several</h1>
      {!mayWrite.value && <Empty>A reader may not run turns.</Empty>}
      {mayWrite.value && !isLoading && <Question key={name} place={place} name={name} />}
      {asked.value.place === name && asked.value.all.length > 0 && <SeveralAnswers all={asked.value.all} />}
    </main>
  );
}

const explained = {
  new: "Each answers in a session of its own. You go on in the one that you choose.",
  from: "Each continues the same turn, in a fork of its own. You go on in the fork that you choose; the conversation and the other forks stay as they are.",
  again:
    "Each gets what the turn was asked, in a fork of its own. You go on in the fork that you choose; the conversation and the other forks stay as they are.",
} as const;

function Question({ place, name }: { place: Place; name: string }) {
  const askees = useSignal<readonly Askee[]>(firstAskees());
  const instruction = useSignal("");
  const before = useSignal("");
  const fault = useSignal("");
  useEffect(() => {
    if (place.kind !== "again") return;
    client.turns.instruction(place.turnId).then(
      (text) => {
        before.value = text;
        instruction.value = text;
      },
      (error: unknown) => (fault.value = wordsOf(error)),
    );
  }, []);
  const requests = useComputed(() =>
    askees.value.map((one) =>
      requestOf(one, place, { instruction: instruction.value.trim(), asked: before.value.trim() }),
    ),
  );
  const isEmpty = instruction.value.trim() === "";
  return (
    <form
      class="several-form"
      onSubmit={(event) => {
        event.preventDefault();
        const labels = labelsOf(askees.value, (model) => modelWords(model, place.kind === "new"));
        askAll(
          name,
          requests.value.map((request, at) => ({ request, label: labels[at] ?? "" })),
        );
      }}
    >
      <p class="dim">{explained[place.kind]}</p>
      <label>
        Instruction
        <textarea
          id="composer"
          rows={3}
          required
          value={instruction.value}
          onInput={({ currentTarget }) => (instruction.value = currentTarget.value)}
        />
      </label>
      {fault.value !== "" && <p role="alert">{fault.value}</p>}
      {askees.value.map((_askee, at) => (
        <fieldset key={at} class="askee">
          <legend>{at + 1}</legend>
          <AskeeFields askees={askees} at={at} isNew={place.kind === "new"} />
          <Estimate request={isEmpty ? null : (requests.value[at] ?? null)} />
          {askees.value.length > 1 && (
            <button type="button" class="quiet small" onClick={() => (askees.value = askees.value.toSpliced(at, 1))}>
              Remove
            </button>
          )}
        </fieldset>
      ))}
      <p class="row-of">
        <button type="submit" class="primary" disabled={isEmpty}>
          Ask {askees.value.length > 1 ? `these ${askees.value.length}` : ""}
        </button>
        {askees.value.length < askeesMax && (
          <button type="button" onClick={() => (askees.value = [...askees.value, nextAskee(askees.value)])}>
            Add another
          </button>
        )}
      </p>
    </form>
  );
}

/** A model, or a context, as the words that a turn takes. */
function modelOptions(isNew: boolean): [string, string][] {
  return [
    ["", isNew ? "default model" : "same model"],
    ...(models.value ?? []).map((one): [string, string] => [`${one.provider}/${one.model}`, modelLabel(one)]),
    ...conversations.value.map(({ id, content }): [string, string] => [
      `context:${id}`,
      `context ${content?.name ?? id}`,
    ]),
  ];
}

function modelWords(model: string, isNew: boolean): string {
  if (model !== "" && !model.startsWith("context:")) return model;
  return modelOptions(isNew).find(([id]) => id === model)?.[1] ?? model;
}

/** Two to begin with, if there are two models: a comparison needs them. */
function firstAskees(): Askee[] {
  const first = nextAskee([]);
  return modelOptions(true).length > 2 ? [first, nextAskee([first])] : [first];
}

/** Takes the first model that is not asked yet. */
function nextAskee(askees: readonly Askee[]): Askee {
  const [, ...offered] = modelOptions(true).map(([id]) => id);
  const model = offered.find((id) => !askees.some((one) => one.model === id)) ?? offered[0] ?? "";
  return { model, repos: askees.at(-1)?.repos ?? newRepos.value, workspaceId: "" };
}

function AskeeFields({ askees, at, isNew }: { askees: Signal<readonly Askee[]>; at: number; isNew: boolean }) {
  const askee = askees.value[at];
  if (askee === undefined) return null;
  const change = (more: Partial<Askee>): void => void (askees.value = askees.value.with(at, { ...askee, ...more }));
  const workspaces = [...new Set((newest.value ?? []).flatMap(({ workspaceId }) => workspaceId ?? []))];
  return (
    <div class="askee-fields">
      <Picker
        isNamed
        label="Model or context"
        value={askee.model}
        options={modelOptions(isNew)}
        choose={(model) => change({ model })}
      />
      {isNew && (indexes.value ?? []).length > 0 && (
        <Repositories isNamed chosen={askee.repos} choose={(repos) => change({ repos })} />
      )}
      {isNew && workspaces.length > 0 && (
        <Picker
          isNamed
          label="Workspace"
          value={askee.workspaceId}
          options={[["", "none"], ...workspaces.map((one) => [one, one])]}
          choose={(workspaceId) => change({ workspaceId })}
        />
      )}
    </div>
  );
}
