import { CodedError } from "../base/index.ts";
import { functionKind } from "./functions.ts";
import { parseStatements, type SyntaxNode } from "./parser.ts";

/** Where a statement may run: "read" on any server, all else on the primary. */
export type StatementKind = "read" | "write" | "ambiguous" | "session" | "transaction" | "empty";

/** What is known of an SQL text without running it. */
export interface Analysis {
  readonly kind: StatementKind;
  readonly reasons: readonly string[];
  readonly statementCount: number;
  /** The connection is not as before afterwards: settings, prepared statements, cursors, session locks, temporary tables. */
  readonly leavesState: boolean;
  /** Works on, or is about, the state of one connection: sent alone, to any, it would be lost, or about somebody else's. */
  readonly bound: boolean;
  /** Begins, ends or alters a transaction; savepoints do not. */
  readonly controlsTransaction: boolean;
  /** Asks for notifications, which nobody is given. */
  readonly listens: boolean;
  /** Could make a read-only transaction writable, or change its isolation. */
  readonly changesMode: boolean;
}

// Later ones win where a text has several.
const rank: readonly StatementKind[] = ["empty", "read", "transaction", "session", "ambiguous", "write"];

const sessionStatements: ReadonlySet<string> = new Set([
  "PrepareStmt",
  "ExecuteStmt",
  "DeallocateStmt",
  "DeclareCursorStmt",
  "FetchStmt",
  "ClosePortalStmt",
  "ListenStmt",
  "UnlistenStmt",
  "DiscardStmt",
  "LoadStmt",
]);

/** Of these, what puts things back as they were harms nobody. */
const harmlessAlone: ReadonlySet<string> = new Set(["DeallocateStmt", "UnlistenStmt", "DiscardStmt", "LoadStmt"]);

const dataStatements: Readonly<Record<string, string>> = {
  InsertStmt: "INSERT",
  UpdateStmt: "UPDATE",
  DeleteStmt: "DELETE",
  MergeStmt: "MERGE",
};

class Findings {
  kind: StatementKind = "empty";
  leavesState = false;
  bound = false;
  changesMode = false;
  controlsTransaction = false;
  listens = false;
  readonly reasons = new Set<string>();
  readonly pureFunctions: ReadonlySet<string>;

  constructor(pureFunctions: ReadonlySet<string>) {
    this.pureFunctions = pureFunctions;
  }

  add(kind: StatementKind, reason?: string): void {
    if (rank.indexOf(kind) > rank.indexOf(this.kind)) this.kind = kind;
    if (reason !== undefined && this.reasons.size < 16) this.reasons.add(reason);
  }
}

/** Parses and classes `text`. Never throws: what the grammar refuses is ambiguous. */
export function analyse(text: string, pureFunctions: ReadonlySet<string>): Analysis {
  const findings = new Findings(pureFunctions);
  // The parser would stop there, and the protocol has no way to send it.
  if (text.includes("\0")) {
    findings.add("ambiguous", "a NUL character");
    return finish(findings, 1);
  }
  if (text.trim() === "") return finish(findings, 0);
  let statements: readonly SyntaxNode[];
  try {
    statements = parseStatements(text);
  } catch {
    findings.add("ambiguous", "syntax error");
    return finish(findings, 1);
  }
  for (const statement of statements) {
    addStatement(...onlyEntry(statement), findings);
  }
  return finish(findings, statements.length);
}

/** Throws instead of sending what would be done, and be of no use to anyone. */
export function refuseUseless({ listens, reasons }: Analysis): void {
  if (listens) throw new CodedError("failed_precondition", "notifications are not handed out: LISTEN on a client of your own", { reasons });
}

function finish(findings: Findings, statementCount: number): Analysis {
  return {
    kind: findings.kind,
    reasons: [...findings.reasons],
    statementCount,
    leavesState: findings.leavesState,
    // Several statements in one text share a connection.
    bound: findings.bound && statementCount === 1,
    controlsTransaction: findings.controlsTransaction,
    changesMode: findings.changesMode,
    listens: findings.listens,
  };
}

function addStatement(type: string, body: SyntaxNode, findings: Findings): void {
  switch (type) {
    case "SelectStmt":
      findings.add("read");
      walk(body, findings);
      break;
    case "ExplainStmt":
      addExplain(body, findings);
      break;
    case "CopyStmt":
      addCopy(body, findings);
      break;
    case "VariableShowStmt":
      findings.add("read");
      break;
    case "VariableSetStmt":
      addSet(body, findings);
      break;
    case "TransactionStmt":
      addTransaction(body, findings);
      break;
    case "ConstraintsSetStmt":
      findings.add("transaction", "SET CONSTRAINTS");
      break;
    case "CallStmt":
    case "DoStmt":
      findings.leavesState = true;
      findings.add("ambiguous", verbOf(type));
      break;
    default:
      addOther(type, body, findings);
  }
}

function addOther(type: string, body: SyntaxNode, findings: Findings): void {
  if (sessionStatements.has(type)) {
    findings.leavesState = true;
    if (!harmlessAlone.has(type)) findings.bound = true;
    if (type === "ListenStmt") findings.listens = true;
    findings.add("session", verbOf(type));
    // What was prepared is not known here. A cursor's query runs with it, to its end WITH HOLD.
    if (type === "ExecuteStmt") findings.add("ambiguous", "EXECUTE");
    else if (type === "DeclareCursorStmt") addStatement(...onlyEntry(body["query"]), findings);
    return;
  }
  if (isTemporary(body)) leaveBehind(findings);
  // Whatever is not proven to read belongs to the primary: DDL, maintenance, locks, NOTIFY and what later grammars add.
  findings.add("write", dataStatements[type] ?? verbOf(type));
}

/** The connection keeps something that only itself can use. */
function leaveBehind(findings: Findings): void {
  findings.leavesState = true;
  findings.bound = true;
}

function isTemporary(body: SyntaxNode): boolean {
  const into = body["into"] as { rel?: { relpersistence?: string } } | undefined;
  const targets = [body["relation"], body["view"], body["sequence"], into?.rel] as ({ relpersistence?: string } | undefined)[];
  return targets.some((target) => target?.relpersistence === "t");
}

function verbOf(type: string): string {
  return type
    .replace(/Stmt$/, "")
    .replace(/(?<=[a-z])(?=[A-Z])/g, " ")
    .toUpperCase();
}

function addExplain(body: SyntaxNode, findings: Findings): void {
  const options = (body["options"] ?? []) as { DefElem?: { defname?: string; arg?: unknown } }[];
  const analyze = options.findLast((option) => option.DefElem?.defname === "analyze")?.DefElem;
  const [type, inner] = onlyEntry(body["query"]);
  findings.add("read", "EXPLAIN");
  const runs = analyze !== undefined && !isOff(analyze.arg);
  if (type === "ExecuteStmt") findings.add("session", "EXPLAIN EXECUTE");
  if (runs) addStatement(type, inner, findings);
}

function onlyEntry(node: unknown): [type: string, body: SyntaxNode] {
  const [type, body] = Object.entries((node ?? {}) as SyntaxNode)[0] ?? ["", {}];
  return [type, (body ?? {}) as SyntaxNode];
}

function isOff(arg: unknown): boolean {
  if (arg === undefined) return false;
  const node = arg as { String?: { sval?: string }; Boolean?: { boolval?: boolean }; Integer?: { ival?: number } };
  if (node.String) return /^(off|false|f|no|n|0)$/i.test(node.String.sval ?? "");
  if (node.Boolean) return node.Boolean.boolval !== true;
  if (node.Integer) return (node.Integer.ival ?? 0) === 0;
  return false;
}

function addCopy(body: SyntaxNode, findings: Findings): void {
  if (body["is_from"]) findings.add("write", "COPY FROM");
  else if (body["is_program"] || body["filename"]) findings.add("write", "COPY to the server's disk or a program");
  else {
    findings.add("read", "COPY TO STDOUT");
    if (body["query"]) addStatement(...onlyEntry(body["query"]), findings);
  }
}

const modeSetting = /^(transaction( snapshot)?|session characteristics|(default_)?transaction_\w+|session_authorization)$/;

function addSet(body: SyntaxNode, findings: Findings): void {
  const name = String(body["name"] ?? "").toLowerCase();
  if (modeSetting.test(name) || body["kind"] === "VAR_RESET_ALL") findings.changesMode = true;
  if (name.startsWith("transaction") && !name.includes("_")) {
    findings.controlsTransaction = true;
    findings.add("transaction", "SET TRANSACTION");
  } else {
    if (!body["is_local"]) findings.leavesState = true;
    if (/^VAR_SET_(VALUE|MULTI|CURRENT)$/.test(String(body["kind"]))) findings.bound = true;
    findings.add("session", "SET");
  }
}

function addTransaction(body: SyntaxNode, findings: Findings): void {
  const kind = String(body["kind"] ?? "").replace("TRANS_STMT_", "");
  if (!["SAVEPOINT", "RELEASE", "ROLLBACK_TO"].includes(kind)) findings.controlsTransaction = true;
  // Two-phase commit changes what outlives the session.
  findings.add(kind.includes("PREPARE") ? "write" : "transaction", kind.replaceAll("_", " "));
}

/** Looks at every node below a query; iterative, since nesting is the caller's choice. */
function walk(root: SyntaxNode, findings: Findings): void {
  const stack: unknown[] = [root];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (Array.isArray(node)) {
      for (const item of node) stack.push(item);
      continue;
    }
    if (typeof node !== "object" || node === null) continue;
    for (const [key, value] of Object.entries(node)) {
      const verb = dataStatements[key];
      if (verb) findings.add("write", `${verb} inside a query`);
      else if (key === "intoClause") {
        findings.add("write", "SELECT INTO");
        if (isTemporary({ into: value })) leaveBehind(findings);
      } else if (key === "LockingClause") findings.add("write", lockName(value));
      else if (key === "FuncCall") addCall(value, findings);
      stack.push(value);
    }
  }
}

function lockName(value: unknown): string {
  const strength = (value as { strength?: string }).strength ?? "";
  const names: Readonly<Record<string, string>> = {
    LCS_FORKEYSHARE: "FOR KEY SHARE",
    LCS_FORSHARE: "FOR SHARE",
    LCS_FORNOKEYUPDATE: "FOR NO KEY UPDATE",
  };
  return names[strength] ?? "FOR UPDATE";
}

function addCall(value: unknown, findings: Findings): void {
  const parts = (value as { funcname?: { String?: { sval?: string } }[] }).funcname ?? [];
  const name = parts.map((part) => part.String?.sval ?? "");
  const kind = functionKind(name, findings.pureFunctions);
  const shown = name.join(".").slice(0, 64);
  if (kind === "unknown") findings.add("ambiguous", `function ${shown} is not known to read only`);
  else if (kind !== "read") findings.add(kind, `function ${shown}`);
  const bare = name.at(-1) ?? "";
  if (/^pg_(try_)?advisory_(?!xact)/.test(bare)) leaveBehind(findings);
  if (bare === "setseed" || (bare === "set_config" && !isLocalSetting(value))) findings.leavesState = true;
  if (["set_config", "currval", "lastval", "pg_export_snapshot"].includes(bare)) findings.bound = true;
}

/** `set_config(name, value, true)`: it ends with the transaction. */
function isLocalSetting(call: unknown): boolean {
  const args = (call as { args?: { A_Const?: { boolval?: { boolval?: boolean } } }[] }).args ?? [];
  return args[2]?.A_Const?.boolval?.boolval === true;
}
