/** Devices and the codes by which they are paired, on the wire (P3). A token is shown once, to its device. */
import { z } from "zod";
import { deviceIdForm, isDeviceId } from "../domain/device.ts";
import type { Device, Pairing } from "../domain/device.ts";
import { isoTime } from "../domain/ids.ts";
import { isoTimeOrNull } from "./session.ts";
import { columnText, id, time } from "./values.ts";

const device = z
  .object({
    id: id.describe("By which it is revoked."),
    deviceId: z.string().describe("What the device calls itself; its workspace is bound to this."),
    userId: z.string(),
    name: z.string(),
    createdAt: time,
    lastUsedAt: time.nullable(),
  })
  .meta({ id: "Device" });
export type WireDevice = z.infer<typeof device>;

export const deviceList = z.object({ devices: z.array(device) }).meta({ id: "DeviceList" });

export const pairingStart = z
  .strictObject({
    workspaceId: z
      .string()
      .optional()
      .describe("A workspace that the device is to share, with its conversation; absent: it gets one of its own."),
  })
  .meta({ id: "PairingStart" });
export type WirePairingStart = z.input<typeof pairingStart>;

export const pairingCode = z
  .object({ id, code: z.string().describe("Never shown again."), expiresAt: time })
  .meta({ id: "PairingCode" });
export type WirePairingCode = z.infer<typeof pairingCode>;

export const pairing = z
  .object({
    id,
    state: z.enum(["open", "claimed", "ended"]),
    expiresAt: time,
    device: device.nullable().describe("Of a code that was claimed."),
  })
  .meta({ id: "Pairing" });
export type WirePairing = z.infer<typeof pairing>;

export const pairingClaim = z
  .strictObject({
    code: z.string().max(64).describe("As it is shown; case, dashes and blanks do not count."),
    name: columnText().min(1).describe("What the user sees in the list of devices."),
    deviceId: z
      .string()
      .refine(isDeviceId, `is not ${deviceIdForm}`)
      .optional()
      .describe("What the device calls itself; one that is somebody else's is replaced by a new one."),
  })
  .meta({ id: "PairingClaim" });
export type WirePairingClaim = z.input<typeof pairingClaim>;

export const pairedDevice = z
  .object({ device, token: z.string().describe("An API key for this device alone. Never shown again.") })
  .meta({ id: "PairedDevice" });
export type WirePairedDevice = z.infer<typeof pairedDevice>;

export function toWireDevice({ id: of, deviceId, userId, name, createdAt, lastUsedAt }: Device): WireDevice {
  const times = { createdAt: isoTime(createdAt), lastUsedAt: isoTimeOrNull(lastUsedAt) };
  return { id: of, deviceId, userId, name, ...times };
}

export function toWirePairing(of: Pairing): WirePairing {
  const { id: code, state, expiresAt } = of;
  return { id: code, state, expiresAt: isoTime(expiresAt), device: of.device && toWireDevice(of.device) };
}
