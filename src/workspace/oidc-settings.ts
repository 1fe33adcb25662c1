/** The section `[oidc]`: people whom an OpenID provider vouches for, in place of API keys (H4). */
import { AptoveError } from "../domain/errors.ts";
import { apiAddress, flag, plainNames, sharedTable, table, text, texts } from "./config-forms.ts";
import type { TableField, ValueField } from "./config-forms.ts";
import type { MergedValues } from "./merged-values.ts";

export interface OidcSettings {
  issuer: string;
  audience: string;
  jwksUrl: string | null;
  algorithms: string[];
  userClaim: string;
  org: { id: string } | { claim: string; ids: Record<string, string> };
  roles: { claim: string; values: { admin: string[]; member: string[]; reader: string[] } } | null;
  mayBeAdded: boolean;
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
    org: text("Id of the org that all of them belong to.", "01890000-0000-7000-8000-000000000000"),
    org_claim: text("In place of `org`: the claim that says of which org somebody is.", "org"),
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

/** Null: there is none. Throws `config_invalid` for a section that leaves open whose tokens are taken, or for whom. */
export function settleOidc(values: MergedValues): OidcSettings | null {
  const issuer = values.text("oidc.issuer");
  const audience = values.text("oidc.audience");
  const org = values.text("oidc.org");
  const orgClaim = values.text("oidc.org_claim");
  if (issuer === null && audience === null && org === null && orgClaim === null) return null;
  if (issuer === null || audience === null || (org === null) === (orgClaim === null)) {
    throw new AptoveError("config_invalid", "oidc: needs issuer, audience, and either org or org_claim");
  }
  const { hostname, protocol } = new URL(issuer);
  if (protocol !== "https:" && !["localhost", "127.0.0.1", "[::1]"].includes(hostname)) {
    throw new AptoveError("config_invalid", "oidc.issuer: must be reached over https");
  }
  const roleClaim = values.text("oidc.role_claim");
  const list = (key: string): string[] => values.get<string[]>(`oidc.roles.${key}`) ?? [];
  const ids = values
    .names("oidc.orgs", [])
    .map((name): [string, string] => [name, values.text(`oidc.orgs.${name}`) ?? ""]);
  return {
    issuer,
    audience,
    jwksUrl: values.text("oidc.jwks_url"),
    algorithms: values.get<string[]>("oidc.algorithms") ?? ["RS256", "ES256", "EdDSA"],
    userClaim: values.text("oidc.user_claim") ?? "sub",
    org: org === null ? { claim: orgClaim ?? "", ids: Object.fromEntries(ids) } : { id: org },
    roles:
      roleClaim === null
        ? null
        : { claim: roleClaim, values: { admin: list("admin"), member: list("member"), reader: list("reader") } },
    mayBeAdded: values.get<boolean>("oidc.provision") ?? false,
  };
}
