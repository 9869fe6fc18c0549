import type { Socket } from "node:net";
import pg from "pg";
import { CodedError } from "../../base/index.ts";
import type { ServerAddress } from "./connection-url.ts";
import { DriverSocket } from "./driver-socket.ts";

/** A server that hangs does not hear the farewell either: its connection is cut after this. */
const farewellMs = 500;

/**
 * Whether the driver can do what a URL says: it reads the files that are named there, such as `sslrootcert`, before it connects.
 * Errors: `bad_config`, without the URL, which may hold a password.
 */
export function checkDriverTakes({ url, name }: ServerAddress): void {
  try {
    new pg.Client({ connectionString: url });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CodedError("bad_config", "the settings of a connection URL cannot be used", { server: name, reason });
  }
}

/** What a connection was told about its server's role without asking. Undefined: the server, or a pooler before it, does not say. */
export interface AnnouncedRole {
  readonly inRecovery: boolean | undefined;
  readonly readOnly: boolean | undefined;
}

/** A connection that listens to what servers since PostgreSQL 14 announce at the start, and with the next answer after a change. */
export class RoleClient extends pg.Client {
  #announced: AnnouncedRole = { inRecovery: undefined, readOnly: undefined };
  /** Called at each announcement. */
  onAnnounced: (announced: AnnouncedRole) => void = () => {};

  constructor(config: pg.ClientConfig) {
    super({ ...config, stream: () => new DriverSocket() });
    const { connection } = this as unknown as { connection: NodeJS.EventEmitter };
    connection.on("parameterStatus", ({ parameterName, parameterValue }: { parameterName: string; parameterValue: string }) => {
      const on = parameterValue === "on";
      if (parameterName === "in_hot_standby") this.#announced = { ...this.#announced, inRecovery: on };
      else if (parameterName === "default_transaction_read_only") this.#announced = { ...this.#announced, readOnly: on };
      else return;
      this.onAnnounced(this.#announced);
    });
  }

  get announced(): AnnouncedRole {
    return this.#announced;
  }

  /** Says farewell and closes. */
  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  override end(callback?: (error: Error) => void): Promise<void> | void {
    const { stream } = (this as unknown as { connection: { stream: Socket } }).connection;
    stream.setTimeout(farewellMs, () => stream.destroy());
    return callback ? super.end(callback) : super.end();
  }

  /**
   * The role; asked where it was not announced, and where another one is expected: a pooler announces to everybody what its first
   * connection was told. The answer may take `timeoutMs`.
   */
  async role(expected: "primary" | "replica", timeoutMs: number): Promise<{ inRecovery: boolean; readOnly: boolean }> {
    const { inRecovery, readOnly } = this.#announced;
    if (inRecovery !== undefined && readOnly !== undefined) {
      if (expected === "primary" ? !inRecovery && !readOnly : inRecovery) return { inRecovery, readOnly };
    }
    const text = "SELECT pg_is_in_recovery() AS recovering, current_setting('transaction_read_only') AS ro";
    const query = { text, query_timeout: timeoutMs } as pg.QueryConfig;
    const { rows } = await this.query<{ recovering: boolean; ro: string }>(query);
    return { inRecovery: rows[0]?.recovering === true, readOnly: rows[0]?.ro === "on" };
  }
}
