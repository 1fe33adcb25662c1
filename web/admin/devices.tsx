/** Browsers and devices that are signed in, how to add one, and how to end one (U2, U10). */
import { useSignal } from "@preact/signals";
import type { WireApiKey, WireDevice, WirePairingCode } from "../../src/client/client.ts";
import { client, me, mayWrite } from "../api/connection.ts";
import { shownText } from "../parts/shown-text.ts";
import { timeOfDay } from "../parts/numbers.ts";
import { Day, Time } from "../parts/time.tsx";
import { PartFrame, SureButton, Table, usePart } from "./part.tsx";
import { Square } from "./square.tsx";

/** A device may not see keys, and browsers are keys. */
async function read(): Promise<{ devices: WireDevice[]; browsers: WireApiKey[] }> {
  const keys = me.value?.deviceId == null ? (await client.keys.list({ limit: 200 })).keys : [];
  const browsers = keys.filter(({ isBrowser, revokedAt }) => isBrowser && revokedAt === null);
  return { devices: await client.devices.list(), browsers };
}

export function Devices() {
  const { list, fault, act } = usePart("devices", read);
  const pairing = useSignal<WirePairingCode | null>(null);
  const mayAdd = mayWrite.value && me.value?.deviceId == null;
  return (
    <PartFrame list={list} fault={fault}>
      {({ devices, browsers }) => (
        <>
          {mayAdd && (
            <p>
              <button
                type="button"
                onClick={() => void act(async () => (pairing.value = await client.devices.createPairingCode()))}
              >
                Add a phone or another browser
              </button>
            </p>
          )}
          {pairing.value !== null && <PairingCode made={pairing.value} />}
          <h2>Browsers</h2>
          <Table caption="Browsers that are signed in" head={["Name", "Signed in", "Used", "Ends", ""]}>
            {browsers.map(({ id, name, createdAt, lastUsedAt, expiresAt }) => (
              <tr key={id}>
                <td>
                  <bdi>{shownText(name)}</bdi>
                </td>
                <td>
                  <Time at={createdAt} />
                </td>
                <td>{lastUsedAt === null ? "never" : <Time at={lastUsedAt} />}</td>
                <td>{expiresAt === null ? "never" : <Day at={expiresAt} />}</td>
                <td>
                  {mayWrite.value && <SureButton label="Sign out" run={() => void act(() => client.keys.revoke(id))} />}
                </td>
              </tr>
            ))}
          </Table>
          {browsers.length === 0 && <p class="dim">No browser is signed in besides devices.</p>}
          <h2>Devices</h2>
          <Table caption="Devices" head={["Name", "Paired", "Used", ""]}>
            {devices.map(({ id, name, createdAt, lastUsedAt }) => (
              <tr key={id}>
                <td>
                  <bdi>{shownText(name)}</bdi>
                </td>
                <td>
                  <Time at={createdAt} />
                </td>
                <td>{lastUsedAt === null ? "never" : <Time at={lastUsedAt} />}</td>
                <td>
                  {mayWrite.value && (
                    <SureButton label="Revoke" run={() => void act(() => client.devices.revoke(id))} />
                  )}
                </td>
              </tr>
            ))}
          </Table>
          {devices.length === 0 && <p class="dim">No device is paired.</p>}
        </>
      )}
    </PartFrame>
  );
}

function PairingCode({ made: { code, expiresAt } }: { made: WirePairingCode }) {
  const url = `${location.origin}/pair#${code}`;
  const isHere = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
  return (
    <div class="pairing">
      <Square text={url} />
      <div>
        <p>Point the phone's camera at the square, or open this address on the device:</p>
        <p>
          <code>{url}</code>
        </p>
        <p class="dim">The code works once, until {timeOfDay(expiresAt)}.</p>
        {isHere && (
          <p class="notice wait">
            This address reaches only this machine. Start the server with <code>--host</code>, or put a tunnel in front
            of it.
          </p>
        )}
      </div>
    </div>
  );
}
