import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { freeUdpTcpPort } from "./free-port.ts";
import { until } from "./gossip-peer.ts";

const run = promisify(execFile);

/** A line of `serf members`. */
export interface SerfMember {
  readonly name: string;
  /** HOST:PORT */
  readonly addr: string;
  readonly status: "alive" | "leaving" | "left" | "failed";
  readonly tags: Readonly<Record<string, string>>;
  readonly protocol: { readonly version: number };
}

/** Why serf cannot be started on this machine; undefined where it can. */
export function serfMissing(): string | undefined {
  return executable() === undefined ? "serf is not installed" : undefined;
}

function executable(): string | undefined {
  const dirs = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/bin"];
  return dirs.map((dir) => join(dir, "serf")).find((path) => existsSync(path));
}

/** A process of `serf agent`. Disposing it kills it. */
export class SerfAgent implements AsyncDisposable {
  readonly name: string;
  /** HOST:PORT */
  readonly address: string;
  readonly log: string[] = [];
  readonly #executable: string;
  readonly #rpcAddress: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  private constructor(name: string, address: string, rpcAddress: string, args: readonly string[]) {
    this.name = name;
    this.address = address;
    this.#executable = executable() ?? "";
    this.#rpcAddress = rpcAddress;
    const options = ["agent", `-node=${name}`, `-bind=${address}`, `-rpc-addr=${rpcAddress}`, "-log-level=debug", ...args];
    this.#child = spawn(this.#executable, options, { stdio: ["ignore", "pipe", "pipe"] });
    this.#child.on("error", (error) => this.log.push(`${error}`));
    this.#exited = once(this.#child, "close").catch(() => {});
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream) createInterface({ input: stream }).on("line", (line) => this.log.push(line));
    }
  }

  /** Starts an agent with the LAN profile and waits until it can be asked. */
  static async start(name: string, args: readonly string[] = []): Promise<SerfAgent> {
    const [port, rpcPort] = [await freeUdpTcpPort(), await freeUdpTcpPort()];
    const agent = new SerfAgent(name, `127.0.0.1:${port}`, `127.0.0.1:${rpcPort}`, args);
    try {
      const answers = () =>
        agent.members().then(
          () => true,
          () => false,
        );
      await until(answers, 20_000, () => agent.log);
      return agent;
    } catch (error) {
      await agent.kill();
      throw error;
    }
  }

  /** Runs one of serf's other commands against this agent and returns what it prints. */
  async command(name: string, ...args: readonly string[]): Promise<string> {
    const { stdout } = await run(this.#executable, [name, `-rpc-addr=${this.#rpcAddress}`, ...args], { timeout: 30_000 });
    return stdout;
  }

  async members(): Promise<SerfMember[]> {
    return (JSON.parse(await this.command("members", "-format=json", "-detailed")) as { members: SerfMember[] }).members;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}
