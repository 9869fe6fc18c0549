import { networkInterfaces } from "node:os";
import { systemClock } from "../../src/base/index.ts";
import { bindUdpTcp } from "../../src/gossip/index.ts";
import { SimNetwork } from "../support/sim-network.ts";
import { simRandom } from "../support/sim-random.ts";
import { describeGossipTransport } from "./gossip-transport.ts";

const loopback = () => bindUdpTcp({ host: "127.0.0.1", port: 0 }, { clock: systemClock });
describeGossipTransport("UDP and TCP", { bindA: loopback, bindB: loopback });

const loopback6 = () => bindUdpTcp({ host: "::1", port: 0 }, { clock: systemClock });
const hasIpv6 = Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === "::1"));
if (hasIpv6) describeGossipTransport("UDP and TCP over IPv6", { bindA: loopback6, bindB: loopback6 });

const network = new SimNetwork(systemClock, simRandom(1));
describeGossipTransport("simulated network", {
  bindA: () => network.factory("10.0.0.1")({ host: "10.0.0.1", port: 0 }),
  bindB: () => network.factory("10.0.0.2")({ host: "10.0.0.2", port: 0 }),
});
