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
  if (turn.steps.length === 0) return <Empty>Nothing was sent: the turn ended before the model was called.</Empty>;
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
      <Bytes key={`${side.value} ${step.value}`} turn={turn} step={step.value} side={side.value} isRaw={isRaw.value} />
    </>
  );
}

interface BytesProps {
  turn: WireTurn;
  step: number;
  side: "request" | "response";
  isRaw: boolean;
}

function Bytes({ turn, step, side, isRaw }: BytesProps) {
  const { value, failed, load } = useLoaded(`${turn.id} ${step} ${side}`, () => client.turns[side](turn.id, step));
  const holds = useSignal<boolean | null>(null);
  const content = value.value;
  const wanted = turn.steps.find(({ index }) => index === step)?.requestSha256;
  useEffect(() => {
    if (content === null || side === "response" || !isSecureContext) return;
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
          onClick={() => saveFile(`${side}-${step}.json`, new Blob([content as Uint8Array<ArrayBuffer>]))}
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
