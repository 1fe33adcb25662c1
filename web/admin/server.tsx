/** What the server says and finds about itself, and the models that it offers (U10). */
import { client, isAdmin } from "../api/connection.ts";
import { count } from "../parts/numbers.ts";
import { Doctor } from "./doctor.tsx";
import { PartFrame, Table, usePart } from "./part.tsx";

const states = { ready: "can run turns", not_ready: "cannot run turns" };

async function read() {
  const [health, models] = await Promise.all([client.health(), client.contexts.models()]);
  return { health, models };
}

export function Server() {
  const { list, fault } = usePart("server", read);
  return (
    <PartFrame list={list} fault={fault}>
      {({ health, models }) => (
        <>
          <h2>Server</h2>
          <dl class="facts">
            <dt>State</dt>
            <dd>{states[health.status]}</dd>
            <dt>Version</dt>
            <dd>{health.version}</dd>
          </dl>
          {isAdmin.value && <Doctor />}
          <Models models={models} />
        </>
      )}
    </PartFrame>
  );
}

function Models({ models }: { models: Awaited<ReturnType<typeof read>>["models"] }) {
  return (
    <>
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
  );
}
