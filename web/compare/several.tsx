/** "Ask several" (U7): one instruction to several models or contexts at once, the answers beside one another. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { client, mayWrite, wordsOf } from "../api/connection.ts";
import { look } from "../api/live.ts";
import { followTurn, type FollowedTurn } from "../api/running-turn.ts";
import { money } from "../parts/numbers.ts";
import { Empty } from "../parts/states.tsx";
import { navigate, pathTo, route } from "../routes.ts";
import { Repositories } from "../thread/choices-row.tsx";
import { conversations, indexes, loadChoices, modelLabel, models, newPlace } from "../thread/choices.ts";
import { EventsView } from "../thread/events-view.tsx";

interface Asked {
  label: string;
  sessionId: string;
  turnId: string;
  followed: FollowedTurn;
}

const severalMax = 4;
const chosen = signal<readonly string[]>([]);
const text = signal("");
const asked = signal<readonly Asked[]>([]);
const fault = signal("");

export function Several() {
  useEffect(() => void loadChoices(), []);
  return (
    <main class="view several" id="view" tabIndex={-1}>
      <h1>Ask several</h1>
      {mayWrite.value ? <Question /> : <Empty>A reader may not run turns.</Empty>}
      {fault.value !== "" && <p role="alert">{fault.value}</p>}
      {asked.value.length > 0 && <Answers />}
    </main>
  );
}

/** A model, or a context, as the words that a turn takes. */
function options(): { words: string; label: string; price: number | null }[] {
  const offered = (models.value ?? []).map((one) => ({
    words: `${one.provider}/${one.model}`,
    label: modelLabel(one),
    price: one.price?.input ?? null,
  }));
  const contexts = conversations.value.map(({ id, content }) => ({
    words: `context:${id}`,
    label: `context ${content?.name ?? id}`,
    price: null,
  }));
  return [...offered, ...contexts];
}

function Question() {
  const from = route.value.query.get("from");
  const all = options();
  const toggle = (words: string): void => {
    const without = chosen.value.filter((one) => one !== words);
    chosen.value = without.length < chosen.value.length ? without : [...without, words].slice(-severalMax);
  };
  return (
    <form
      class="several-form"
      onSubmit={(event) => {
        event.preventDefault();
        void ask(from);
      }}
    >
      <fieldset>
        <legend>Up to four models or contexts{from !== null && ", each as a fork of the same turn"}</legend>
        {all.length === 0 && <p class="dim">No provider offers a model. The default context answers.</p>}
        {all.map(({ words, label, price }) => (
          <label key={words} class="check">
            <input type="checkbox" checked={chosen.value.includes(words)} onChange={() => toggle(words)} />
            {label}
            {price !== null && text.value !== "" && (
              <span class="dim numbers">at least {money((text.value.length / 4 / 1e6) * price)}</span>
            )}
          </label>
        ))}
      </fieldset>
      {from === null && (indexes.value?.length ?? 0) > 0 && <Repositories />}
      <label>
        Instruction
        <textarea
          rows={3}
          required
          value={text.value}
          onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary" disabled={chosen.value.length === 0}>
        Ask {chosen.value.length > 1 ? `these ${chosen.value.length}` : ""}
      </button>
    </form>
  );
}

/** The slowest answer holds none of the others. What is refused is named, and the others run. */
async function ask(from: string | null): Promise<void> {
  fault.value = "";
  for (const { followed } of asked.value) followed.stop();
  asked.value = [];
  const place = from === null ? newPlace() : { fork: { turnId: from } };
  const started = chosen.value.map(async (words) => {
    const { sessionId, turnId } = await client.start({ instruction: text.value, model: words, ...place });
    asked.value = [...asked.value, { label: words, sessionId, turnId, followed: followTurn(turnId) }];
  });
  for (const result of await Promise.allSettled(started)) {
    if (result.status === "rejected") fault.value = wordsOf(result.reason);
  }
  await look();
}

function Answers() {
  const all = asked.value;
  return (
    <div class="beside">
      {all.map(({ label, sessionId, turnId, followed }) => (
        <section key={turnId} aria-label={label}>
          <h2>{label}</h2>
          <div class="answer" aria-busy={followed.view.value.end === null}>
            <EventsView turnId={turnId} view={followed.view.value} isRunning={followed.view.value.end === null} />
            {followed.view.value.end?.kind === "failed" && <p class="notice fail">{followed.view.value.end.message}</p>}
          </div>
          <p class="row-of">
            <button
              type="button"
              class="primary small"
              onClick={() => navigate(pathTo("session", { session: sessionId }))}
            >
              Keep this one
            </button>
            {all
              .filter((other) => other.turnId !== turnId)
              .map((other) => (
                <a key={other.turnId} class="button small" href={pathTo("compare", { a: turnId, b: other.turnId })}>
                  Compare with {other.label}
                </a>
              ))}
          </p>
        </section>
      ))}
    </div>
  );
}
