/** Signing a browser in to the page (U2). */
import * as z from "zod";
import { columnText, timeSchema } from "./values.ts";

const kept = z.string().min(1).max(256);
const identityAnswerSchema = z
  .strictObject({
    answer: z.string().max(8_192).describe("The query that the identity provider added to `redirectUri`."),
    redirectUri: z.url({ protocol: /^https?$/ }).max(2_048),
    state: kept,
    nonce: kept,
    verifier: kept,
  })
  .meta({ id: "IdentityAnswer" });

export const signInSchema = z
  .strictObject({
    code: z.string().max(64).optional().describe("The code in the address that `npm start` and `aptove page` print."),
    key: z.string().max(256).optional().describe("The secret of an API key."),
    pairingCode: z.string().max(64).optional().describe("A pairing code: the browser becomes a device."),
    identity: identityAnswerSchema
      .optional()
      .describe("What the identity provider answered, with what `POST /api/sign-in/attempts` returned."),
    name: columnText().min(1).describe("The name that the user sees in the list of browsers and devices."),
  })
  .refine(({ name: _name, ...proofs }) => Object.values(proofs).filter((one) => one !== undefined).length === 1, {
    message: "needs exactly one of code, key, pairingCode and identity",
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

export const signInWaysSchema = z
  .object({
    identityProvider: z
      .string()
      .nullable()
      .describe("The identity provider at which browsers can sign in. Null: with a key or a code only."),
  })
  .meta({ id: "SignInWays" });
export type WireSignInWays = z.infer<typeof signInWaysSchema>;

export const attemptStartSchema = z
  .strictObject({
    redirectUri: z
      .url({ protocol: /^https?$/ })
      .max(2_048)
      .describe("The page's address `/signed-in`, as it is registered at the identity provider."),
  })
  .meta({ id: "SignInAttemptStart" });

export const attemptSchema = z
  .object({
    address: z.string().describe("The address at which the person signs in."),
    state: z.string(),
    nonce: z.string(),
    verifier: z.string().describe("The browser keeps it, with `state` and `nonce`, until the provider answers."),
  })
  .meta({ id: "SignInAttempt" });
export type WireSignInAttempt = z.infer<typeof attemptSchema>;

export const signInCodeSchema = z
  .object({ code: z.string().describe("Put it behind `#` into the page's address."), expiresAt: timeSchema })
  .meta({ id: "SignInCode" });
export type WireSignInCode = z.infer<typeof signInCodeSchema>;
