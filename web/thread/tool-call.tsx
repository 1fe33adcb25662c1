/** A tool call: what it will do or did, its output, and the question whether it may run. */
import { useState } from "preact/hooks";
import type { CallItem, ToolContent, ToolView } from "../api/turn-view.ts";
import { Diff } from "../parts/diff.tsx";
import { bytes } from "../parts/numbers.ts";
import { shownCommand, shownText } from "../parts/shown-text.ts";

const outputShownMax = 4_000;

export function ToolCall({ call }: { call: CallItem }) {
  const { view, name, result, asks, approved } = call;
  const state = asks ? "wait" : result === null ? "run" : result.isError ? "fail" : "done";
  const words = { wait: "waits for an answer", run: "running", fail: "failed", done: "done" }[state];
  const hasChange = view?.content.some(({ type }) => type === "diff") ?? false;
  return (
    <details class={`call ${state}`} open={asks || hasChange}>
      <summary>
        <span class={`mark ${state}`} title={words}>
          <span class="spoken">{words}</span>
        </span>
        <span class="call-title">{shownText(view?.title ?? `${name} ${oneLine(call.args)}`)}</span>
        {approved !== null && <span class="tag">{approved ? "allowed" : "denied"}</span>}
      </summary>
      <div class="call-body">
        <CallContent view={view} args={call.args} />
        {result === null ? <Output text={call.output} /> : <Result result={result} isSame={hasChange} />}
      </div>
    </details>
  );
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").slice(0, 120);
}

/** What a person must see before they allow a call: the exact change or command, else the arguments. */
export function CallContent({ view, args }: { view: ToolView | null; args: string }) {
  if (view === null || view.content.length === 0) return <pre class="arguments">{shownCommand(pretty(args))}</pre>;
  return (
    <>
      {view.content.map((content, at) => (
        <Content key={at} content={content} />
      ))}
    </>
  );
}

function pretty(args: string): string {
  try {
    return JSON.stringify(JSON.parse(args), null, 2);
  } catch {
    return args;
  }
}

function Content({ content }: { content: ToolContent }) {
  switch (content.type) {
    case "diff":
      return <Diff {...content} />;
    case "image":
      return /^image\/(?:png|jpeg|gif|webp)$/.test(content.mimeType) ? (
        <img
          class="result-image"
          alt="Image that the tool returned"
          src={`data:${content.mimeType};base64,${content.data}`}
        />
      ) : (
        <p class="dim">{content.mimeType}, which a browser does not show</p>
      );
    case "plan":
      return (
        <ul class="plan">
          {content.steps.map(({ content: text, status }, at) => (
            <li key={at} class={status}>
              <span class="spoken">{status.replace("_", " ")}: </span>
              {text}
            </li>
          ))}
        </ul>
      );
    case "text":
      return <pre class="arguments">{shownCommand(content.text)}</pre>;
  }
}

function Result({ result, isSame }: { result: NonNullable<CallItem["result"]>; isSame: boolean }) {
  const rest = result.content.filter(({ type }) => type !== "text" && !(isSame && type === "diff"));
  return (
    <>
      {rest.map((content, at) => (
        <Content key={at} content={content} />
      ))}
      <Output text={result.output} />
    </>
  );
}

/** The beginning of an output. Outputs can have megabytes. */
function Output({ text }: { text: string }) {
  const [shown, setShown] = useState(outputShownMax);
  if (text === "") return null;
  return (
    <>
      <pre class="output" tabIndex={0}>
        {text.slice(0, shown)}
      </pre>
      {text.length > shown && (
        <button type="button" class="quiet small" onClick={() => setShown(shown * 10)}>
          Show more ({bytes(text.length - shown)} are left)
        </button>
      )}
    </>
  );
}
