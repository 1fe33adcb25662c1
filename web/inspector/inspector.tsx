/** The inspector of a turn (U6): what filled the window, what was sent and what was left out, the steps, and the exact bytes. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { client } from "../api/connection.ts";
import { useLoaded } from "../api/loading.ts";
import type { Thread } from "../api/thread.ts";
import type { WireTurn, WireTurnContext } from "../../src/client/client.ts";
import { duration, plural } from "../parts/numbers.ts";
import { stopWords, usageWords } from "../parts/turn-words.ts";
import { FailedState, Loading } from "../parts/states.tsx";
import { pathTo } from "../routes.ts";
import { TreePanel } from "../tree/tree-panel.tsx";
import { Exact } from "./exact.tsx";
import { SentList } from "./sent-list.tsx";
import { Steps } from "./steps.tsx";
import { WindowView } from "./window-view.tsx";

/** The address names the tree in place of a turn. */
export function Inspector({ thread, turnId }: { thread: Thread; turnId: string }) {
  const close = pathTo("session", { session: thread.id });
  return (
    <aside
      class={`inspector${turnId === "tree" ? " of-tree" : ""}`}
      aria-label={turnId === "tree" ? "Tree of the session" : "Inspector"}
    >
      <a class="button quiet close" href={close} aria-label="Close">
        ×
      </a>
      {turnId === "tree" ? (
        <TreePanel thread={thread} />
      ) : (
        <TurnInspector key={turnId} thread={thread} turnId={turnId} />
      )}
    </aside>
  );
}

interface Read {
  turn: WireTurn;
  /** Null: what was stored of the message cannot be read. */
  context: WireTurnContext | null;
  contextFault: string;
  request: string | null;
}

/** Reads what there is. A damaged part is named, and the rest is shown. */
async function read(turnId: string): Promise<Read> {
  const [turn, context, request] = await Promise.all([
    client.turns.get(turnId),
    client.turns.context(turnId).catch((error: unknown) => error),
    client.turns.request(turnId, 1).then(
      (bytes) => new TextDecoder().decode(bytes),
      () => null,
    ),
  ]);
  if (context instanceof Error) return { turn, context: null, contextFault: context.message, request };
  return { turn, context: context as WireTurnContext, contextFault: "", request };
}

const tabs = ["Context", "Steps", "Request"] as const;

function TurnInspector({ thread, turnId }: { thread: Thread; turnId: string }) {
  const { value, failed, load } = useLoaded(turnId, () => read(turnId));
  const status = thread.turns.value.get(turnId)?.status;
  const before = useRef(status);
  useEffect(() => {
    // A turn that runs has few of its facts. What is read first stays in place until the rest is there.
    if (before.current === "pending" && status !== "pending") void load();
    before.current = status;
  }, [status]);
  const tab = useSignal<(typeof tabs)[number]>("Context");
  if (value.value === null) {
    return failed.value === null ? (
      <Loading lines={8} />
    ) : (
      <FailedState failed={failed.value} retry={() => void load()} />
    );
  }
  const { turn, context, contextFault, request } = value.value;
  const { run } = turn;
  const facts = [
    run !== null && plural(run.modelRequests, "step"),
    run !== null && duration(run.durationMs),
    ...(run === null ? [] : usageWords(run.usage)),
    turn.status !== "completed" && turn.status.replaceAll("_", " "),
    stopWords(turn.stopReason),
  ].filter((one) => typeof one === "string");
  return (
    <>
      <h2>Turn {turn.sequence}</h2>
      <p class="dim numbers">{facts.join(" · ")}</p>
      {turn.failures.map(({ code, message, fix }, at) => (
        <p key={at} class="notice fail">
          {message} <code>{code}</code>
          <br />
          <span class="dim">What to do: {fix}</span>
        </p>
      ))}
      <div class="tabs" role="tablist" aria-label="Parts of the turn">
        {tabs.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-controls="inspected"
            aria-selected={tab.value === name}
            onClick={() => (tab.value = name)}
          >
            {name}
          </button>
        ))}
      </div>
      <div id="inspected" role="tabpanel" aria-labelledby={`tab-${tab.value}`}>
        {tab.value === "Context" && (
          <>
            {contextFault !== "" && <p class="notice fail">The message cannot be read: {contextFault}</p>}
            {context !== null && <WindowView turn={turn} context={context} request={request} />}
            <SentList thread={thread} turn={turn} context={context} />
          </>
        )}
        {tab.value === "Steps" && <Steps turn={turn} />}
        {tab.value === "Request" && <Exact turn={turn} />}
      </div>
    </>
  );
}
