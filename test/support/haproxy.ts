import { connect } from "node:net";
import { freePort } from "./free-port.ts";
import { PeerHome, programsMissing } from "./peer-home.ts";
import { until } from "./until.ts";

/** A HAProxy with two ports: one leads to the server that is primary, the other to replicas. */
export interface Haproxy extends AsyncDisposable {
  readonly writerPort: number;
  readonly readerPort: number;
}

/** Why it cannot be started on this machine; undefined where it can. */
export function haproxyMissing(): string | undefined {
  return programsMissing(["haproxy"]);
}

/** Starts one for servers on 127.0.0.1; `rolePort`: where the role endpoints are asked. */
export async function startHaproxy(serverPorts: readonly number[], rolePort: number): Promise<Haproxy> {
  const home = await PeerHome.open();
  try {
    const [writerPort, readerPort] = [await freePort(), await freePort()];
    const file = await home.write("haproxy.cfg", configuration(serverPorts, rolePort, writerPort, readerPort));
    const { child } = home.spawn("haproxy", ["-db", "-f", file]);
    await until("HAProxy listens", async () => {
      if (child.exitCode !== null) throw new Error(await home.run("haproxy", ["-c", "-f", file]));
      return await listens(writerPort);
    });
    return { writerPort, readerPort, [Symbol.asyncDispose]: () => home[Symbol.asyncDispose]() };
  } catch (error) {
    await home[Symbol.asyncDispose]();
    throw error;
  }
}

// A server goes down with the first answer that says so, and comes up with the second: the other way round both are up for a moment.
const configuration = (serverPorts: readonly number[], rolePort: number, writerPort: number, readerPort: number) => `
defaults
  mode tcp
  timeout connect 1s
  timeout client 1m
  timeout server 1m
  timeout check 1s
  default-server inter 200ms fastinter 100ms fall 1 rise 2 on-marked-down shutdown-sessions
${section("writer", writerPort, "/primary?server=%[srv_name]", serverPorts, rolePort)}
${section("readers", readerPort, "/replica?server=%[srv_name]&lag=16MB", serverPorts, rolePort)}
`;

const section = (name: string, port: number, uri: string, serverPorts: readonly number[], rolePort: number) => `
listen ${name}
  bind 127.0.0.1:${port}
  option httpchk
  http-check send meth GET uri-lf "${uri}"
  http-check expect status 200
${serverPorts.map((one) => `  server 127.0.0.1:${one} 127.0.0.1:${one} check addr 127.0.0.1 port ${rolePort}`).join("\n")}
`;

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
