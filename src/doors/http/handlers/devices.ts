/** Handlers for devices and their pairing (P3). */
import { isoTime } from "../../../domain/ids.ts";
import { toWireDevice, toWirePairing } from "../../../protocol/device.ts";
import { withoutNullish } from "../../../protocol/given.ts";
import { answer, type HandlerDependencies, type RouteHandlers } from "./handler.ts";

type DeviceRoute = "listDevices" | "createPairingCode" | "getPairingCode" | "pairDevice" | "revokeDevice";

export function deviceHandlers({ engine: { devices } }: HandlerDependencies): RouteHandlers<DeviceRoute> {
  return {
    listDevices: async ({ caller }) =>
      answer("listDevices", { devices: (await devices.list(caller)).map(toWireDevice) }),
    createPairingCode: async ({ caller, body }) => {
      const { id, code, expiresAt } = await devices.pair(caller, withoutNullish(body));
      return answer("createPairingCode", { id, code, expiresAt: isoTime(expiresAt) });
    },
    getPairingCode: async ({ caller, id }) =>
      answer("getPairingCode", toWirePairing(await devices.pairing(caller, id))),
    pairDevice: async ({ body: { code, name, deviceId } }) => {
      const { device, token } = await devices.claim({ code, name, ...withoutNullish({ deviceId }) });
      return answer("pairDevice", { device: toWireDevice(device), token });
    },
    revokeDevice: async ({ caller, id }) => {
      await devices.revoke(caller, id);
      return new Response(null, { status: 204 });
    },
  };
}
