/** A tool call: what it will do or did, its output, and the question whether it may run. */
import type { CallItem, ToolContent, ToolView } from "../api/turn-view.ts";
import { client, wordsOf } from "../api/connection.ts";
import { Diff } from "../parts/diff.tsx";
import { LongText } from "../parts/long-text.tsx";
import { saveFile } from "../parts/save-file.ts";
import { shownCommand, shownText } from "../parts/shown-text.ts";
import { actionFault } from "./turn-actions.ts";

export function ToolCall({ call, turnId }: { call: CallItem; turnId: string }) {
  const { view, name, result, asks, approved } = call;
  const state = asks ? "wait" : result === null ? "run" : result.isError ? "fail" : "done";
  const words = { wait: "waits for an answer", run: "running", fail: "failed", done: "done" }[state];
  const save = (): void => void saveOutput(turnId, call);
  const hasChange = view?.content.some(({ type }) => type === "diff") ?? false;
  return (
    <details class={`call ${state}`} open={asks || hasChange}>
      <summary>
        <span class={`mark ${state}`} title={words}>
          <span class="spoken">{words}</span>
        </span>
        <bdi class="call-title">{shownText(view?.title ?? `${name} ${oneLine(call.args)}`)}</bdi>
        {approved !== null && <span class="tag">{approved ? "allowed" : "denied"}</span>}
      </summary>
      <div class="call-body">
        <CallContent view={view} args={call.args} />
        {result === null ? (
          <LongText text={call.output} save={save} />
        ) : (
          <Result result={result} save={save} isSame={hasChange} />
        )}
      </div>
    </details>
  );
}

/** Saves the whole output. The model, and so the conversation, may have only a part of it. */
async function saveOutput(turnId: string, { id, name }: CallItem): Promise<void> {
  try {
    saveFile(`${name}.txt`, await client.turns.output(turnId, id));
  } catch (error) {
    actionFault.value = wordsOf(error);
  }
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

interface ResultProps {
  result: NonNullable<CallItem["result"]>;
  save(): void;
  /** True if the change is shown already. */
  isSame: boolean;
}

function Result({ result, save, isSame }: ResultProps) {
  const rest = result.content.filter(({ type }) => type !== "text" && !(isSame && type === "diff"));
  return (
    <>
      {rest.map((content, at) => (
        <Content key={at} content={content} />
      ))}
      <LongText text={result.output} save={save} />
    </>
  );
}
