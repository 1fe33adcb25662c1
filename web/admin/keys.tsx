/** API keys (U10). A secret is shown once, when its key is made. */
import { useSignal } from "@preact/signals";
import { client, mayWrite } from "../api/connection.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { shownText } from "../parts/shown-text.ts";
import { Day, Time } from "../parts/time.tsx";
import { PartFrame, SureButton, Table, usePart } from "./part.tsx";

export function Keys() {
  const { list, fault, act } = usePart("keys", () => client.keys.list({ limit: 200 }));
  const name = useSignal("");
  const secret = useSignal("");
  const create = (): Promise<boolean> =>
    act(async () => {
      secret.value = (await client.keys.create({ name: name.value })).secret;
      name.value = "";
    });
  return (
    <PartFrame list={list} fault={fault}>
      {({ keys }) => (
        <>
          {mayWrite.value && (
            <form
              class="row-of"
              onSubmit={(event) => {
                event.preventDefault();
                void create();
              }}
            >
              <label>
                <span class="spoken">Name of the key</span>
                <input
                  required
                  placeholder="Name of the key"
                  value={name.value}
                  onInput={({ currentTarget }) => (name.value = currentTarget.value)}
                />
              </label>
              <button type="submit">Make a key</button>
            </form>
          )}
          {secret.value !== "" && (
            <p class="notice">
              The secret, which is never shown again: <code>{secret.value}</code> <CopyButton text={secret.value} />
            </p>
          )}
          <Table caption="Keys" head={["Name", "Begins with", "Made", "Used", "State", ""]}>
            {keys
              .filter(({ isBrowser, deviceId }) => !isBrowser && deviceId === null)
              .map(({ id, name: of, prefix, createdAt, lastUsedAt, revokedAt, expiresAt }) => (
                <tr key={id} class={revokedAt === null ? "" : "dim"}>
                  <td>{shownText(of)}</td>
                  <td>
                    <code>{prefix}…</code>
                  </td>
                  <td>
                    <Time at={createdAt} />
                  </td>
                  <td>{lastUsedAt === null ? "never" : <Time at={lastUsedAt} />}</td>
                  <td>
                    {revokedAt !== null ? (
                      "revoked"
                    ) : expiresAt === null ? (
                      "valid"
                    ) : (
                      <>
                        until <Day at={expiresAt} />
                      </>
                    )}
                  </td>
                  <td>
                    {revokedAt === null && mayWrite.value && (
                      <SureButton label="Revoke" run={() => void act(() => client.keys.revoke(id))} />
                    )}
                  </td>
                </tr>
              ))}
          </Table>
        </>
      )}
    </PartFrame>
  );
}
