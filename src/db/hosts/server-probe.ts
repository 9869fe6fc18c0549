import { type Clock, CodedError } from "../../base/index.ts";
import type { ServerAddress } from "./connection-url.ts";
import { connectErrorClass, NotConnectedError } from "./error-class.ts";
import { patiently } from "./patience.ts";
import { RoleClient } from "./role-client.ts";
import { type FactsRow, factsOf, factsSql, type ProbeDepth, privilegesSql, type ServerFacts } from "./server-facts.ts";

/** How a server is asked. */
export interface ProbeOptions {
  /** A server that does not answer within this has failed the check. Default 250 ms. */
  readonly probeTimeoutMs: number;
  /** A new connection may take this long; checks fail meanwhile. */
  readonly connectTimeoutMs: number;
  readonly applicationName: string;
  /** Whether a standby that feeds others counts as a place where log is written. GitLab's USE_NEW_LOAD_BALANCER_QUERY. Default true. */
  readonly useNewLoadBalancerQuery: boolean;
}

interface Connected {
  readonly client: RoleClient;
  readonly sinceMs: number;
  /** Whether replication origins may be read; undefined until it was asked. */
  origins: boolean | undefined;
}

// A name may lead to another server by then, and a server that takes no new connections is not well.
const maxLifetimeMs = 60_000;

/** Asks one server about itself, on a connection of its own, so that it neither waits for requests nor takes their place. */
export class ServerProbe implements AsyncDisposable {
  readonly #address: ServerAddress;
  readonly #options: ProbeOptions;
  readonly #clock: Clock;
  #connection: Promise<Connected> | undefined;

  constructor(address: ServerAddress, options: ProbeOptions, deps: { clock: Clock }) {
    this.#address = address;
    this.#options = options;
    this.#clock = deps.clock;
  }

  /** One round trip on a connection that stands. Connecting and answering may take `patienceMs` each. Errors: the driver's, and `deadline_exceeded`. */
  async ask(depth: ProbeDepth, patienceMs: number, signal: AbortSignal): Promise<ServerFacts> {
    this.#connection ??= this.#connect();
    const connected = await patiently(this.#clock, patienceMs, this.#connection, signal);
    try {
      const facts = await patiently(this.#clock, patienceMs, this.#ask(connected, depth), signal);
      if (this.#clock.monotonic() - connected.sinceMs > maxLifetimeMs) this.reconnect();
      return facts;
    } catch (error) {
      // The answer may still come, to a question that nobody remembers.
      this.#forget(connected.client);
      throw error;
    }
  }

  /** The next question goes to whoever the address leads to then. */
  reconnect(): void {
    this.#connection?.then(
      ({ client }) => this.#forget(client),
      () => {},
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.then(({ client }) => client.end()).catch(() => {});
  }

  #connect(): Promise<Connected> {
    const connecting: Promise<Connected> = this.#open().catch((error: unknown) => {
      if (this.#connection === connecting) this.#connection = undefined;
      // An error of the certificate, which on a connection that stands would only say that it is lost.
      throw connectErrorClass(error) === "config" ? new NotConnectedError(this.#address.name, "config", error) : error;
    });
    connecting.catch(() => {});
    return connecting;
  }

  async #open(): Promise<Connected> {
    const { connectTimeoutMs, applicationName } = this.#options;
    const client = new RoleClient({
      connectionString: this.#address.url,
      connectionTimeoutMillis: connectTimeoutMs,
      application_name: `${applicationName} check`,
      keepAlive: true,
    });
    client.on("error", () => this.#forget(client));
    await client.connect();
    return { client, sinceMs: this.#clock.monotonic(), origins: undefined };
  }

  #forget(client: RoleClient): void {
    this.#connection?.then(
      (current) => {
        if (current.client === client) this.#connection = undefined;
      },
      () => {},
    );
    client.end().catch(() => {});
  }

  async #ask(connected: Connected, depth: ProbeDepth): Promise<ServerFacts> {
    const { client } = connected;
    if (depth === "full" && connected.origins === undefined) {
      connected.origins = (await client.query(privilegesSql)).rows[0].origins === true;
    }
    const sql = factsSql(depth, { origins: connected.origins === true, legacy: !this.#options.useNewLoadBalancerQuery });
    const { rows } = await client.query<FactsRow>(sql);
    const [row] = rows;
    if (!row) throw new CodedError("protocol_error", "a statement with one row gave none");
    return factsOf(row, this.#clock.monotonic());
  }
}
