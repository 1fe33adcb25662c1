/** What the server says about itself, the models that it offers, and its indexes (U10). */
import { client, isAdmin } from "../api/connection.ts";
import { count } from "../parts/numbers.ts";
import { shownText } from "../parts/shown-text.ts";
import { Time } from "../parts/time.tsx";
import { PartFrame, Table, usePart } from "./part.tsx";

async function read() {
  const [health, indexes, models] = await Promise.all([client.health(), client.indexes(), client.contexts.models()]);
  return { health, indexes, models };
}

export function Server() {
  const { list, fault } = usePart("server", read);
  return (
    <PartFrame list={list} fault={fault}>
      {({ health, indexes, models }) => (
        <>
          <h2>Server</h2>
          <dl class="facts">
            <dt>State</dt>
            <dd>{health.status.replace("_", " ")}</dd>
            <dt>Version</dt>
            <dd>{health.version}</dd>
            {isAdmin.value &&
              (["records", "blobs", "log", "runningTurns"] as const).map((name) => (
                <>
                  <dt>{name}</dt>
                  <dd>{String(health[name] ?? "")}</dd>
                </>
              ))}
          </dl>
          <h2>Indexes</h2>
          <Table caption="Indexes" head={["Repository", "Commit", "Files", "Chunks", "Embedding", "Indexed"]}>
            {indexes.map(({ repo, commit, files, chunks, embedding, indexedAt }) => (
              <tr key={repo}>
                <td>{shownText(repo)}</td>
                <td>
                  <code>{commit?.slice(0, 8)}</code>
                </td>
                <td class="right numbers">{count(files)}</td>
                <td class="right numbers">{count(chunks)}</td>
                <td>{embedding.model}</td>
                <td>
                  <Time at={indexedAt} />
                </td>
              </tr>
            ))}
          </Table>
          {indexes.length === 0 && <p class="dim">No repository is indexed. In its folder: aptove index</p>}
          <h2>Models</h2>
          <Table caption="Models" head={["Provider", "Model", "Window", "Price in, cached, out for a million tokens"]}>
            {models.map(({ provider, model, contextTokens, price }) => (
              <tr key={`${provider} ${model}`}>
                <td>{provider}</td>
                <td>{model}</td>
                <td class="right numbers">{contextTokens === null ? "not known" : count(contextTokens)}</td>
                <td class="numbers">
                  {price === null ? "not known" : `$${price.input}, $${price.cached}, $${price.output}`}
                </td>
              </tr>
            ))}
          </Table>
          {models.length === 0 && (
            <p class="dim">No provider is configured. The offline model answers from the code that it finds.</p>
          )}
        </>
      )}
    </PartFrame>
  );
}
