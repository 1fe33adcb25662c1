/** What `aptove doctor` finds about one part of the program or of its server (L1). */

export interface Check {
  /** The part, for example `records`. */
  name: string;
  /** `note`: it works, and there is something to know. */
  state: "ok" | "note" | "failed";
  /** What was found. */
  detail: string;
  /** What a person does about it. Absent: nothing, or it is not known. */
  fix?: string;
}
