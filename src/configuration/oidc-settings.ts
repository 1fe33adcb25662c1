/** The section `[oidc]` of the configuration: sign-in at an OpenID provider, with its access tokens (H4) or in a browser (U2). */
import { AptoveError } from "../domain/errors.ts";
import {
  apiAddressField,
  booleanField,
  plainNames,
  sharedTableField,
  tableField,
  text,
  textListField,
  type TableField,
  type ValueField,
} from "./config-forms.ts";
import type { MergedValues } from "./merged-values.ts";

/** The section as the file has it. If `issuer` is null, API keys are the only way to sign in, and the other values are unused. */
export interface OidcSettings {
  issuer: string | null;
  /** Null: no access tokens are accepted. */
  audience: string | null;
  /** The client as which browsers sign in to the page. Null: they do not sign in there. */
  clientId: string | null;
  clientSecret: string | null;
  scopes: string[];
  jwksUrl: string | null;
  algorithms: string[];
  userClaim: string;
  /** The org of users whose token names none. If there is an issuer, `org` or `orgClaim` is set. */
  org: string | null;
  orgClaim: string | null;
  orgs: Record<string, string>;
  roleClaim: string | null;
  roles: { admin: string[]; member: string[]; reader: string[] };
  provision: boolean;
}

/** The supported algorithms. All use a public key, so only the provider can sign; algorithms with a shared secret and `none` are excluded. */
const algorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

function algorithmList(): ValueField {
  const field = textListField("Signature algorithms that tokens may use.", ["RS256", "ES256", "EdDSA"]);
  const fault = (value: unknown): string | null => {
    const isKnown =
      Array.isArray(value) && value.length > 0 && value.every((each) => algorithms.includes(each as string));
    return isKnown ? null : `must be a list of ${algorithms.join(", ")}`;
  };
  return { ...field, fault };
}

export const oidcFields: TableField = sharedTableField(
  "Sign-in with access tokens of an OpenID provider instead of API keys.",
  {
    issuer: apiAddressField("The OpenID provider's issuer, exactly as in its tokens.", "https://id.example.org"),
    audience: text("Audience that the tokens must have. If absent: tokens are refused.", "aptove"),
    client_id: text(
      "Client as which browsers sign in to the page. If absent: they sign in with a key or a code.",
      "aptove-page",
    ),
    client_secret: text("Secret of that client. If absent: PKCE alone protects the sign-in.", "...", {
      env: "APTOVE_OIDC_CLIENT_SECRET",
      isSecret: true,
    }),
    scopes: textListField("Scopes that a browser's sign-in asks for.", ["openid", "profile", "email"]),
    jwks_url: apiAddressField(
      "Address of the provider's signing keys. If absent: the address in its metadata.",
      "https://id.example.org/keys",
    ),
    algorithms: algorithmList(),
    user_claim: text("Claim that identifies the user; `email` matches the users' email addresses.", "sub"),
    org: text("Id of the org of users whose token has no `org_claim`.", "01890000-0000-7000-8000-000000000000"),
    org_claim: text("Claim that names the user's org.", "org"),
    orgs: {
      kind: "named",
      names: plainNames,
      sampleName: "engines",
      each: text("Id of the org for this value of `org_claim`. If absent: the value is the id.", "01890000-…"),
    },
    role_claim: text("Claim that determines the role. If absent: the role of the user's record.", "groups"),
    roles: tableField("Values of `role_claim` that give a role. A user without any of these values is a reader.", {
      admin: textListField("Values that give the role admin.", ["aptove-admins"]),
      member: textListField("Values that give the role member.", ["engineers"]),
      reader: textListField("Values that give the role reader.", ["guests"]),
    }),
    provision: booleanField(
      "True if an unknown user is added at the first request, with the role that the token gives, else as a reader.",
      false,
    ),
  },
);

export function settleOidc(values: MergedValues): OidcSettings {
  const list = (role: string): string[] => values.get<string[]>(`oidc.roles.${role}`) ?? [];
  const names = values.names("oidc.orgs", []);
  return {
    issuer: values.text("oidc.issuer"),
    audience: values.text("oidc.audience"),
    clientId: values.text("oidc.client_id"),
    clientSecret: values.text("oidc.client_secret"),
    scopes: values.get<string[]>("oidc.scopes") ?? ["openid", "profile", "email"],
    jwksUrl: values.text("oidc.jwks_url"),
    algorithms: values.get<string[]>("oidc.algorithms") ?? ["RS256", "ES256", "EdDSA"],
    userClaim: values.text("oidc.user_claim") ?? "sub",
    org: values.text("oidc.org"),
    orgClaim: values.text("oidc.org_claim"),
    orgs: Object.fromEntries(names.map((name) => [name, values.text(`oidc.orgs.${name}`) ?? ""])),
    roleClaim: values.text("oidc.role_claim"),
    roles: { admin: list("admin"), member: list("member"), reader: list("reader") },
    provision: values.get<boolean>("oidc.provision") ?? false,
  };
}

/** Checks that the keys together determine which tokens are accepted and for which org. Throws `config_invalid`. */
export function checkOidc({ issuer, audience, clientId, scopes, org, orgClaim }: OidcSettings): void {
  const fault = (detail: string): never => {
    throw new AptoveError("config_invalid", detail);
  };
  if (issuer === null) {
    if (audience !== null || clientId !== null || org !== null || orgClaim !== null) fault("oidc.issuer: is missing");
    return;
  }
  if (audience === null && clientId === null) {
    fault("oidc.audience: is missing; set it for access tokens, or set client_id if only browsers sign in");
  }
  if (clientId !== null && !scopes.includes("openid")) fault("oidc.scopes: must have openid");
  if (org === null && orgClaim === null) fault("oidc: needs org or org_claim");
  const { hostname, protocol } = new URL(issuer);
  const isHere = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  if (protocol !== "https:" && !isHere) fault("oidc.issuer: must be reached over https");
}
