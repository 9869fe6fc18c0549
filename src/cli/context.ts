import type { Clock, Random } from "../base/index.ts";
import type { Connect } from "./client.ts";
import type { RunHook } from "./db/run-hook.ts";

/** The process around the commands: streams, environment, files, signals. */
export interface CliIo {
  /** Writes text for people, or JSON. */
  readonly stdout: (text: string) => void;
  /** Writes errors. */
  readonly stderr: (text: string) => void;
  /** Whether a person can answer questions. */
  readonly isTerminal: boolean;
  /** Asks on the terminal and reads one line. */
  readonly ask: (question: string) => Promise<string>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Reads a file as UTF-8 text. */
  readonly readFile: (path: string) => string;
  /** Calls `listener` at each SIGTERM and SIGINT until disposed. */
  readonly onStopSignal: (listener: () => void) => Disposable;
}

/** The flags a command was given, by name without dashes. */
export type Flags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** What the configuration is loaded from. */
export interface CliConfigInput {
  readonly flags: Flags;
  readonly env: CliIo["env"];
  readonly readFile: CliIo["readFile"];
  readonly cwd: string;
}

/** The part of the configuration that the commands look at. */
export interface CliConfig {
  readonly advertiseHost: string | undefined;
  /** Given without effect. */
  readonly ignored: readonly string[];
}

/** One key of the merged configuration. */
export interface CliSetting {
  readonly key: string;
  readonly value: unknown;
  readonly from: string;
}

/** A running node, as `serve` sees it. */
export interface CliServer {
  readonly info: {
    readonly node: string;
    readonly version: string;
    readonly dataDir: string;
    /** HOST:PORT, as are the next two. */
    readonly grpc: string;
    readonly http: string;
    readonly gossip: string;
  };
  /** Resolves once the node can serve. */
  whenReady(signal: AbortSignal): Promise<void>;
  /** What a node that is not ready waits for, in a few words. */
  waitingFor(): string;
  /** Finishes the running calls, leaves the cluster and closes everything. */
  drain(): Promise<void>;
  /** Closes everything at once. */
  destroy(): Promise<void>;
  /** Settles when the node has closed; rejects with what forced it to. */
  readonly closed: Promise<void>;
}

/** The result of one check. */
export interface CliCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly message: string;
}

/** A database server that is the primary. */
export interface CliPrimary {
  /** HOST:PORT. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

/** The servers of a database, as they are seen from here. */
interface CliDatabaseWatch extends AsyncDisposable {
  /** Undefined while it is not beyond doubt. */
  primary(): CliPrimary | undefined;
}

/** How far a rebuild of the catalog is, and what it did. */
export interface CliRebuildCounts {
  /** Names in the store, of removed repositories too. */
  readonly stored: number;
  /** Rows that were compared. */
  readonly rows: number;
  /** Names that were looked up in the catalog. */
  readonly lookedUp: number;
  readonly added: number;
  /** Removals that the catalog did not know. */
  readonly noted: number;
  readonly corrected: number;
  readonly removed: number;
  /** Rows that somebody else wrote meanwhile. */
  readonly overtaken: number;
  /** Repositories that cannot be read. */
  readonly damaged: number;
}

/** What a rebuild of the catalog is told. */
interface CliRebuildOptions {
  readonly dryRun: boolean;
  readonly takeOver: boolean;
  readonly onProgress: (counts: CliRebuildCounts) => void;
  readonly onDamaged: (repository: string) => void;
}

/** What the commands work with; `cmd` puts it together. `C` is the configuration, which passes through. */
export interface CliDeps<C extends CliConfig = CliConfig> {
  readonly clock: Clock;
  /** Default: the system's. */
  readonly random?: Random;
  readonly loadConfig: (input: CliConfigInput) => C;
  readonly showConfig: (input: CliConfigInput) => { readonly toml: string; readonly settings: readonly CliSetting[] };
  readonly createServer: (config: C) => Promise<CliServer>;
  readonly runChecks: (config: C) => AsyncIterable<CliCheck>;
  readonly watchDatabase: (config: C) => Promise<CliDatabaseWatch>;
  readonly rebuildCatalog: (config: C, options: CliRebuildOptions, signal: AbortSignal) => Promise<CliRebuildCounts>;
  /** Runs a shell command; default: as a child process. */
  readonly runHook?: RunHook;
  /** Opens a client; default: over the network. */
  readonly connect?: Connect;
}

/** Everything a handler gets beside its own options. */
export interface CliContext {
  readonly io: CliIo;
  readonly deps: Required<CliDeps>;
  /** Aborts when the user interrupts. */
  readonly signal: AbortSignal;
}

/** A parsed command line, ready to run; resolves with the exit code. */
export type Action = (context: CliContext) => Promise<number>;

/** Takes the action of the command that was named. */
export type Submit = (action: Action) => void;
