/** The exact request and response of a step: readable, or byte for byte, with the digest that proves them. */
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { WireTurn } from "../../src/client/client.ts";
import { client } from "../api/connection.ts";
import { useLoaded } from "../api/loading.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { bytes } from "../parts/numbers.ts";
import { saveFile } from "../parts/save-file.ts";
import { Empty, FailedState, Loading } from "../parts/states.tsx";
import { partsOfRequest, partsOfStream } from "./exact-parts.ts";
import { ExactView, Whole } from "./exact-view.tsx";

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
            {turn.steps.map(({ index, status }) => (
              <option key={index} value={index}>
                Step {index}
                {status === "failed" && ", failed"}
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
        read={() => (side.value === "request" ? readRequest(turn, step.value) : readResponse(turn, step.value))}
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
        read={async () => alone(await client.turns.source(turn.id))}
        wanted={digest}
        isRaw={true}
      />
    </>
  );
}

interface BytesProps {
  /** The name of the file if it is saved. */
  name: string;
  read: () => Promise<ReadBytes>;
  /** The digest that the turn has for the bytes. Null: it has none. */
  wanted: string | null;
  isRaw: boolean;
}

interface ReadBytes {
  content: Uint8Array;
  /** The request before this one. Null: there is none to compare with. */
  before: string | null;
  /** What is known about the request before, in words. */
  remark: string;
}

function Bytes({ name, read, wanted, isRaw }: BytesProps) {
  const { value, failed, load } = useLoaded(name, read);
  if (value.value === null) {
    return failed.value === null ? (
      <Loading lines={6} />
    ) : (
      <FailedState failed={failed.value} retry={() => void load()} />
    );
  }
  return <Shown read={value.value} name={name} wanted={wanted} isRaw={isRaw} />;
}

function Shown({
  read: { content, before, remark },
  name,
  wanted,
  isRaw,
}: Omit<BytesProps, "read"> & { read: ReadBytes }) {
  const holds = useSignal<boolean | null>(null);
  useEffect(() => {
    if (wanted === null || !isSecureContext) return;
    void sha256(content).then((found) => (holds.value = found === wanted));
  }, [content]);
  const text = useMemo(() => new TextDecoder().decode(content), [content]);
  const parts = useMemo(() => partsOfRequest(text, before) ?? partsOfStream(text), [text, before]);
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
      {remark !== "" && !isRaw && <p class="dim small-text">{remark}</p>}
      {isRaw || parts === null ? <Whole text={text} language="" /> : <ExactView parts={parts} />}
    </>
  );
}

/** Reads a request with the one before it: of the step before, else of the last step of the turn above. */
async function readRequest(turn: WireTurn, step: number): Promise<ReadBytes> {
  const [content, earlier] = await Promise.all([
    client.turns.request(turn.id, step),
    requestBefore(turn, step).catch(() => "The request before this one cannot be read."),
  ]);
  if (turn.steps.find(({ index }) => index === step)?.previousResponseId != null) {
    return { content, before: null, remark: "The provider keeps what came before. This request has only what is new." };
  }
  if (typeof earlier === "string") return { content, before: null, remark: earlier };
  const remark = "What is new since the request before is marked.";
  return { content, before: new TextDecoder().decode(earlier), remark };
}

async function requestBefore({ id, parentId }: WireTurn, step: number): Promise<Uint8Array | string> {
  const first = "No request came before this one. All of it is new.";
  if (step > 1) return await client.turns.request(id, step - 1);
  if (parentId === null) return first;
  const last = (await client.turns.get(parentId)).steps.at(-1);
  return last === undefined ? first : await client.turns.request(parentId, last.index);
}

function alone(content: Uint8Array): ReadBytes {
  return { content, before: null, remark: "" };
}

async function readResponse({ id }: WireTurn, step: number): Promise<ReadBytes> {
  return alone(await client.turns.response(id, step));
}

async function sha256(content: Uint8Array): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", content as Uint8Array<ArrayBuffer>);
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
