/** The section `[oidc]`: people whom an OpenID provider vouches for, in place of API keys (H4). */
import { AptoveError } from "../domain/errors.ts";
import { apiAddress, flag, plainNames, sharedTable, table, text, texts } from "./config-forms.ts";
import type { TableField, ValueField } from "./config-forms.ts";
import type { MergedValues } from "./merged-values.ts";

/** As the file has it. `issuer` null: people come in by API keys alone, and the rest means nothing. */
export interface OidcSettings {
  issuer: string | null;
  audience: string | null;
  jwksUrl: string | null;
  algorithms: string[];
  userClaim: string;
  /** At least one of the two, where there is an issuer. */
  org: string | null;
  orgClaim: string | null;
  orgs: Record<string, string>;
  roleClaim: string | null;
  roles: { admin: string[]; member: string[]; reader: string[] };
  provision: boolean;
}

/** By a key that is published nobody else can sign; those with a shared secret, and none at all, are not among them. */
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
  const field = texts("Algorithms that tokens may be signed with.", ["RS256", "ES256", "EdDSA"]);
  const fault = (value: unknown): string | null => {
    const isKnown =
      Array.isArray(value) && value.length > 0 && value.every((each) => algorithms.includes(each as string));
    return isKnown ? null : `must be a list of ${algorithms.join(", ")}`;
  };
  return { ...field, fault };
}

export const oidcFields: TableField = sharedTable(
  "People whom an OpenID provider vouches for: its access tokens in place of API keys.",
  {
    issuer: apiAddress("The provider, exactly as its tokens name it.", "https://id.example.org"),
    audience: text("What the tokens must be made for.", "aptove"),
    jwks_url: apiAddress("Where its keys are; absent: as its metadata say.", "https://id.example.org/keys"),
    algorithms: algorithmList(),
    user_claim: text("The claim that says who somebody is; `email` means the users' addresses.", "sub"),
    org: text("Id of the org of all those of whom `org_claim` says none.", "01890000-0000-7000-8000-000000000000"),
    org_claim: text("The claim that says of which org somebody is.", "org"),
    orgs: {
      kind: "named",
      names: plainNames,
      sampleName: "engines",
      each: text("Id of the org that this value of `org_claim` stands for; absent: the value is the id.", "01890000-…"),
    },
    role_claim: text("The claim that says what somebody may; absent: as the user's role says.", "groups"),
    roles: table("Values of `role_claim` that give a role; without any of them one is a reader.", {
      admin: texts("Values that make an admin.", ["aptove-admins"]),
      member: texts("Values that make a member.", ["engineers"]),
      reader: texts("Values that make a reader.", ["guests"]),
    }),
    provision: flag("Whether somebody whom nobody added is added, as what the roles say, else as a reader.", false),
  },
);

export function settleOidc(values: MergedValues): OidcSettings {
  const list = (role: string): string[] => values.get<string[]>(`oidc.roles.${role}`) ?? [];
  const names = values.names("oidc.orgs", []);
  return {
    issuer: values.text("oidc.issuer"),
    audience: values.text("oidc.audience"),
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

/** What the keys leave open together: whose tokens are taken, or for whom. Throws `config_invalid`. */
export function checkOidc({ issuer, audience, org, orgClaim }: OidcSettings): void {
  const fault = (detail: string): never => {
    throw new AptoveError("config_invalid", detail);
  };
  if (issuer === null) {
    if (audience !== null || org !== null || orgClaim !== null) fault("oidc.issuer: is missing");
    return;
  }
  if (audience === null) fault("oidc.audience: is missing; tokens that were made for others must not be taken");
  if (org === null && orgClaim === null) fault("oidc: needs org or org_claim");
  const { hostname, protocol } = new URL(issuer);
  const isHere = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  if (protocol !== "https:" && !isHere) fault("oidc.issuer: must be reached over https");
}
