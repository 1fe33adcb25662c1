/** Signing a browser in to the page (U2). */
import * as z from "zod";
import { columnText, timeSchema } from "./values.ts";

export const signInSchema = z
  .strictObject({
    code: z.string().max(64).optional().describe("The code in the address that `npm start` and `aptove page` print."),
    key: z.string().max(256).optional().describe("The secret of an API key."),
    pairingCode: z.string().max(64).optional().describe("A pairing code: the browser becomes a device."),
    name: columnText().min(1).describe("The name that the user sees in the list of browsers and devices."),
  })
  .refine(({ code, key, pairingCode }) => [code, key, pairingCode].filter((one) => one !== undefined).length === 1, {
    message: "needs exactly one of code, key and pairingCode",
  })
  .meta({ id: "SignIn" });
export type WireSignIn = z.input<typeof signInSchema>;

export const signedInSchema = z
  .object({
    pageSecret: z
      .string()
      .describe("The page keeps it in its own origin's storage and sends it in the header `X-Aptove-Page`."),
    expiresAt: timeSchema.nullable().describe("When the sign-in ends. Null: it has no end, like a device's token."),
  })
  .meta({ id: "SignedIn" });
export type WireSignedIn = z.infer<typeof signedInSchema>;

export const signInCodeSchema = z
  .object({ code: z.string().describe("Put it behind `#` into the page's address."), expiresAt: timeSchema })
  .meta({ id: "SignInCode" });
export type WireSignInCode = z.infer<typeof signInCodeSchema>;
