/** The actions that the audit log records, for the filters of a client. It loads no schema. */
export { auditActions } from "../domain/audit.ts";
