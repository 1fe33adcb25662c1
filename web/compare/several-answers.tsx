/** The answers of those that were asked, beside one another. The slowest holds none of the others. */
import { duration } from "../parts/numbers.ts";
import { stopWords, usageWords } from "../parts/turn-words.ts";
import { navigate, pathTo } from "../routes.ts";
import { EventsView } from "../thread/events-view.tsx";
import { asked, start, type Asked, type AskedState } from "./asked.ts";

type Started = Extract<AskedState, { kind: "started" }>;

export function SeveralAnswers({ all }: { all: readonly Asked[] }) {
  return (
    <div class="beside">
      {all.map((one, at) => (
        <section key={at} aria-label={one.label}>
          <h2>{one.label}</h2>
          <Column one={one} />
        </section>
      ))}
    </div>
  );
}

function Column({ one }: { one: Asked }) {
  const state = one.state.value;
  if (state.kind === "starting") return <p class="dim">Starting …</p>;
  if (state.kind === "started") return <Answer state={state} label={one.label} />;
  return (
    <>
      <p class="notice fail" role="alert">
        {state.words}
      </p>
      <button type="button" class="small" onClick={() => void start(one)}>
        Try again
      </button>
    </>
  );
}

function Answer({ state, label }: { state: Started; label: string }) {
  const { sessionId, turnId, followed, end } = state;
  const view = followed.view.value;
  const isRunning = view.end === null && end === null && followed.failed.value === null;
  const others = asked.value.all.filter((other) => other.label !== label && other.state.value.kind === "started");
  return (
    <>
      <div class="answer" aria-busy={isRunning}>
        <EventsView turnId={turnId} view={view} isRunning={isRunning} />
        {isRunning && view.items.length === 0 && <p class="dim">Waiting for the model …</p>}
        {view.end?.kind === "failed" && (
          <p class="notice fail">
            {view.end.message} <code>{view.end.code}</code>
          </p>
        )}
        {followed.failed.value !== null && <p role="alert">{followed.failed.value}</p>}
      </div>
      <p class="dim numbers small-text">{end !== null ? factsOf(end) : isRunning && "Working …"}</p>
      <p class="row-of">
        <button type="button" class="primary small" onClick={() => navigate(pathTo("session", { session: sessionId }))}>
          Go on with this one
        </button>
        {others.map((other, at) => {
          const { value } = other.state;
          return value.kind !== "started" || value.end === null || end === null ? null : (
            <a key={at} class="button small" href={pathTo("compare", { a: turnId, b: value.turnId })}>
              Compare with {other.label}
            </a>
          );
        })}
      </p>
    </>
  );
}

function factsOf({ durationMs, stopReason, usage }: NonNullable<Started["end"]>): string {
  const facts = [
    durationMs !== null && duration(durationMs),
    stopWords(stopReason),
    ...(usage === null ? [] : usageWords(usage)),
    usage !== null && usage.costUsd === undefined && "price not known",
  ];
  return facts.filter((one) => typeof one === "string").join(" · ");
}
