/** The exact request and response of a step: readable, or byte for byte, with the digest that proves them. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { WireTurn } from "../../src/client/client.ts";
import { client } from "../api/connection.ts";
import { useLoaded } from "../api/loading.ts";
import { Marked } from "../parts/code.tsx";
import { CopyButton } from "../parts/copy-button.tsx";
import { bytes } from "../parts/numbers.ts";
import { saveFile } from "../parts/save-file.ts";
import { Empty, FailedState, Loading } from "../parts/states.tsx";

const shownCharactersMax = 200_000;

export function Exact({ turn }: { turn: WireTurn }) {
  const step = useSignal(1);
  const side = useSignal<"request" | "response">("request");
  const isRaw = useSignal(false);
  if (turn.foreign !== null) return <Source turn={turn} />;
  if (turn.steps.length === 0) return <Empty>Nothing was sent: the turn ended before the model was called.</Empty>;
  const sent = turn.steps.find(({ index }) => index === step.value);
  return (
    <>
      <div class="row-of">
        <label>
          <span class="spoken">Step</span>
          <select value={step.value} onChange={({ currentTarget }) => (step.value = Number(currentTarget.value))}>
            {turn.steps.map(({ index }) => (
              <option key={index} value={index}>
                Step {index}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span class="spoken">Side</span>
          <select
            value={side.value}
            onChange={({ currentTarget }) => (side.value = currentTarget.value as typeof side.value)}
          >
            <option value="request">request</option>
            <option value="response">response</option>
          </select>
        </label>
        <label class="check">
          <input type="checkbox" checked={isRaw.value} onChange={() => (isRaw.value = !isRaw.value)} />
          Raw
        </label>
      </div>
      <Bytes
        key={`${turn.id} ${side.value} ${step.value}`}
        name={`${side.value}-${step.value}.json`}
        read={async () => await client.turns[side.value](turn.id, step.value)}
        wanted={side.value === "request" ? (sent?.requestSha256 ?? null) : null}
        isRaw={isRaw.value}
      />
    </>
  );
}

/** What another tool wrote about a turn that was imported. */
function Source({ turn }: { turn: WireTurn }) {
  const { tool = "", version, sha256: digest = "" } = turn.foreign ?? {};
  return (
    <>
      <p>
        This turn ran in {tool} {version}. These bytes of its history describe it; aptove sent nothing.
      </p>
      <Bytes
        key={turn.id}
        name={`${tool}-${turn.id}.jsonl`}
        read={async () => await client.turns.source(turn.id)}
        wanted={digest}
        isRaw={true}
      />
    </>
  );
}

interface BytesProps {
  /** The name of the file if it is saved. */
  name: string;
  read: () => Promise<Uint8Array>;
  /** The digest that the turn has for the bytes. Null: it has none. */
  wanted: string | null;
  isRaw: boolean;
}

function Bytes({ name, read, wanted, isRaw }: BytesProps) {
  const { value, failed, load } = useLoaded(name, read);
  const holds = useSignal<boolean | null>(null);
  const content = value.value;
  useEffect(() => {
    if (content === null || wanted === null || !isSecureContext) return;
    void sha256(content).then((found) => (holds.value = found === wanted));
  }, [content]);
  if (content === null) {
    return failed.value === null ? (
      <Loading lines={6} />
    ) : (
      <FailedState failed={failed.value} retry={() => void load()} />
    );
  }
  const text = new TextDecoder().decode(content);
  const shown = isRaw ? text : pretty(text);
  return (
    <>
      <p class="row-of numbers">
        <span>{bytes(content.length)}</span>
        {holds.value !== null && (
          <span class={`tag ${holds.value ? "ok" : "bad"}`}>
            {holds.value ? "digest holds" : "digest does not hold"}
          </span>
        )}
        <CopyButton text={text} label="Copy the exact bytes" />
        <button
          type="button"
          class="quiet small"
          onClick={() => saveFile(name, new Blob([content as Uint8Array<ArrayBuffer>]))}
        >
          Save
        </button>
      </p>
      <pre class="output exact" tabIndex={0}>
        <Marked text={shown.slice(0, shownCharactersMax)} language={isRaw ? "" : "json"} />
        {shown.length > shownCharactersMax &&
          `\n… ${bytes(shown.length - shownCharactersMax)} more; save it to see all`}
      </pre>
    </>
  );
}

/** A response that streamed is lines of events and stays as it is. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

async function sha256(content: Uint8Array): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", content as Uint8Array<ArrayBuffer>);
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
